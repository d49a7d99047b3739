"""A file of JSON lines as bodies of Adds, in chunks, each body with the number of its line.

A line is the body of an Add, a line of an export, or one plain message:

    {"user_id": "u", "session_id": "s", "role": "user", "content": "...", "timestamp": ...}

Consecutive messages of one user, session and timezone make one request, of at most 20. Its request_id is derived
from these, the number of its first line and its first message: the same file again is a repeat, and the same words
in another place are another request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from pgrecall.contract import parse_json
from pgrecall.errors import InvalidRequest

LONGEST_LINE = 32 * 2**20
"""Bytes; as the body of an Add."""
MOST_GROUPED = 20
"""Plain messages of one request: as many as the evaluators of memory servers send in one Add."""
CHUNK_MESSAGES = 500
"""Messages that are prepared and written at once, in one commit."""
CHUNK_BYTES = 2**20
SAID = ("content", "tool_calls", "function_call")
"""A line with one of these and no `messages` is a plain message."""
OF_REQUEST = ("user_id", "session_id", "request_id", "timezone")


@dataclass(frozen=True, slots=True)
class Body:
    """The JSON of one request, and the number of the line where it begins."""

    line: int
    data: bytes


@dataclass(slots=True)
class Chunk:
    """Bodies that are worked on together; `refused`: lines that are no JSON, and why. `read`: bytes of the file."""

    bodies: list[Body] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    messages: int = 0
    size: int = 0
    read: int = 0

    @property
    def full(self) -> bool:
        return self.messages >= CHUNK_MESSAGES or self.size >= CHUNK_BYTES or len(self.refused) >= CHUNK_MESSAGES


@dataclass(slots=True)
class Group:
    """Plain messages that become one request."""

    line: int
    of: tuple[Any, Any, Any]
    """user_id, session_id, timezone."""
    messages: list[dict[str, Any]]

    def body(self) -> dict[str, Any]:
        user_id, session_id, timezone = self.of
        place = json.dumps([user_id, session_id, timezone, self.line, self.messages[0]], sort_keys=True)
        body = {
            "request_id": "line:" + hashlib.sha256(place.encode()).hexdigest()[:32],
            "user_id": user_id,
            "session_id": session_id,
            "messages": self.messages,
        }
        return body if timezone is None else body | {"timezone": timezone}


def lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None, int]]:
    """Number, text (None: too long) and size of each line. No more than one line is in memory."""
    number = 0
    while text := file.readline(LONGEST_LINE + 1):
        number += 1
        size = len(text)
        too_long = size > LONGEST_LINE and not text.endswith(b"\n")
        while too_long and not text.endswith(b"\n") and (text := file.readline(LONGEST_LINE)):
            size += len(text)
        yield number, None if too_long else text, size


def chunks(file: IO[bytes]) -> Iterator[Chunk]:
    """All of the file, in order."""
    chunk, group = Chunk(), None
    for number, text, size in lines(file):
        chunk.read += size
        payload = _payload(number, text, chunk)
        if isinstance(payload, dict) and "messages" not in payload and any(name in payload for name in SAID):
            group = _grouped(number, payload, group, chunk)
        elif payload is not None:
            _ended(group, chunk)
            group = None
            assert text is not None
            said = payload.get("messages") if isinstance(payload, dict) else None
            _put(chunk, Body(number, text), len(said) if isinstance(said, list) else 1)
        if chunk.full:
            yield chunk
            chunk = Chunk()
    _ended(group, chunk)
    yield chunk


def put_together(payloads: Iterable[tuple[int, dict[str, Any], int]]) -> Iterator[Chunk]:
    """Bodies that are there already, each with its line (or its place in a file of another form) and size."""
    chunk = Chunk()
    for number, payload, size in payloads:
        chunk.read += size
        _put(chunk, Body(number, json.dumps(payload).encode()), len(payload["messages"]))
        if chunk.full:
            yield chunk
            chunk = Chunk()
    yield chunk


def _payload(number: int, text: bytes | None, chunk: Chunk) -> object | None:
    """None where the line is blank, or refused."""
    if text is None:
        chunk.refused.append((number, f"the line is longer than {LONGEST_LINE >> 20} MiB"))
        return None
    if not text.strip():
        return None
    try:
        payload = parse_json(text)
    except InvalidRequest as error:
        reason = error.reason.replace("the body is not JSON: line 1, column", "the line is not JSON: column")
        chunk.refused.append((number, reason))
        return None
    return {} if payload is None else payload


def _grouped(number: int, payload: dict[str, Any], group: Group | None, chunk: Chunk) -> Group:
    """The group that the message is put into; the one before, where it is of another, goes into the chunk."""
    # An exact type: as in the contract, 7 is no id; here it is none at all.
    ids = [value if type(value := payload.get(name)) is str else None for name in ("user_id", "session_id")]
    of = (ids[0], ids[1], payload.get("timezone"))
    message = {name: value for name, value in payload.items() if name not in OF_REQUEST}
    if group is not None and group.of == of and len(group.messages) < MOST_GROUPED:
        group.messages.append(message)
        return group
    _ended(group, chunk)
    return Group(number, of, [message])


def _ended(group: Group | None, chunk: Chunk) -> None:
    if group is not None:
        _put(chunk, Body(group.line, json.dumps(group.body()).encode()), len(group.messages))


def _put(chunk: Chunk, body: Body, messages: int) -> None:
    chunk.bodies.append(body)
    chunk.messages += messages
    chunk.size += len(body.data)
