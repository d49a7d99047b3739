"""Ids of any length and content, as text that Postgres can hold and index."""

from __future__ import annotations

import hashlib

MAX_BYTES = 512
"""Longest id stored as it is. Three of them fit a B-tree entry, which ends at 2,704 bytes."""

HASHED = "sha256:"


def stored_id(sent: str) -> tuple[str, bytes | None]:
    """The key an id is stored under, and its original bytes where the key is a hash.

    Hashed: over 512 bytes; NUL or lone surrogates, which Postgres text cannot hold; and whatever looks
    like a hash itself. Two different ids never share a key.
    """
    data = sent.encode("utf-8", "surrogatepass")
    storable = "\0" not in sent and not any("\ud800" <= c <= "\udfff" for c in sent)
    if storable and len(data) <= MAX_BYTES and not sent.startswith(HASHED):
        return sent, None
    return HASHED + hashlib.sha256(data).hexdigest(), data
