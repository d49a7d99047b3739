"""Rows into the tables: the numbers are drawn by one statement, the rows follow by COPY, in one transaction.

Of 20,000 messages this took 1.32 s, by way of temporary tables 2.47 s, and sql/add.sql for each request, pipelined,
2.98 s (0.96, 1.78 and 2.47 s of Postgres; python -m ops.bench.writes).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import psycopg
from psycopg.rows import TupleRow

from pgrecall.bulk.carried import AuditLine
from pgrecall.bulk.copying import Drawn, copy
from pgrecall.bulk.ready import Ready
from pgrecall.lexical.analysis import VERSION
from pgrecall.queries import query

ATTEMPTS = 5
"""Of a batch that meets an Add or another import the wrong way round, which Postgres ends after a second."""
PASSING = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.LockNotAvailable)

HEAD = (
    "original_user_ids", "original_request_ids", "original_session_ids", "received_ats", "message_counts",
    "fact_counts", "extractions", "extraction_reasons", "terms_lengths", "forgotten_messages", "forgotten_facts",
)  # fmt: skip


@dataclass(slots=True)
class Written:
    """Of one batch: how much was stored; the lines of what was there already, and of request_ids with another
    body."""

    stored: int = 0
    messages: int = 0
    repeats: list[int] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)


def write(
    connection: psycopg.Connection[TupleRow], batch: Sequence[Ready], audits: Iterable[tuple[str, AuditLine]]
) -> Written:
    """All of it or nothing, durably. Raises psycopg's errors."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with connection.transaction():
                _audit(connection, audits)
                return _write(connection, batch)
        except PASSING:
            if attempt == ATTEMPTS:
                raise
            time.sleep(0.1 * attempt)
    raise AssertionError("unreachable")


def _write(connection: psycopg.Connection[TupleRow], batch: Sequence[Ready]) -> Written:
    written = Written()
    drawn = []
    for one, (_, stored, digest, first_n, first_turn) in draw(connection, batch):
        if stored:
            drawn.append(Drawn(one, first_n, first_turn))
            written.stored += 1
            written.messages += len(one.messages)
        else:
            (written.repeats if bytes(digest) == one.body_digest else written.conflicts).append(one.line)
    copy(connection, drawn)
    return written


def draw(connection: psycopg.Connection[TupleRow], batch: Sequence[Ready]) -> list[tuple[Ready, TupleRow]]:
    """Each request, none twice, with its row of sql/import.sql."""
    if not batch:
        return []
    keys = {
        "user_ids": [one.user_id for one in batch],
        "request_ids": [one.request_id for one in batch],
        "session_ids": [one.session_id for one in batch],
        "body_digests": [one.body_digest for one in batch],
        "terms_version": VERSION,
    }
    heads = zip(HEAD, zip(*(one.head for one in batch), strict=True), strict=True)
    rows = connection.execute(query("import").text, keys | {name: list(column) for name, column in heads})
    return list(zip(batch, rows.fetchall(), strict=True))


def _audit(connection: psycopg.Connection[TupleRow], audits: Iterable[tuple[str, AuditLine]]) -> None:
    for user, one in audits:
        connection.execute(
            query("audit").text,
            {
                "user_id": user,
                "audit_id": one.audit_id,
                "done_at": one.done_at,
                "action": one.action,
                "selected_by": list(one.selected_by),
                "messages": one.messages,
                "facts": one.facts,
            },
        )
