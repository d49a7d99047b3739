"""`pgrecall export`: the store as JSON lines, from which an import makes the same store; carried.py says what they
hold.

One snapshot, read through a cursor of the server's: Adds go on beside it, and no more than some hundred requests
are in memory. Vectors, terms and dates are left out: an import derives them anew, for the model that it is set to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import IO, Any

import psycopg
from psycopg.rows import DictRow, TupleRow, dict_row

from pgrecall.bulk.carried import FORMAT
from pgrecall.contract import render_json
from pgrecall.ids import stored_id
from pgrecall.queries import query
from pgrecall.rows import by_clock

FETCHED = 200
"""Rows of the cursor at a time: requests of 20 messages, some 1 MB."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export(connection: psycopg.Connection[TupleRow], file: IO[bytes], user_id: str | None) -> Iterator[int]:
    """Write the requests of one user or of all; yields how many messages have been written, request after request.
    Raises psycopg's errors, OSError."""
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    asked = {"user_id": None if user_id is None else stored_id(user_id)[0]}
    messages = 0
    with connection.transaction():
        for row in _rows(connection, "export", asked):
            file.write(render_json(request_line(row)) + b"\n")
            messages += len(row["messages"] or ())
            yield messages
        for row in _rows(connection, "audits", asked):
            file.write(render_json(audit_line(row)) + b"\n")
    file.flush()


def _rows(connection: psycopg.Connection[TupleRow], name: str, asked: dict[str, Any]) -> Iterable[DictRow]:
    with connection.cursor(name=name, row_factory=dict_row) as cursor:
        cursor.itersize = FETCHED
        cursor.execute(query(name).text, asked)
        yield from cursor


def request_line(row: DictRow) -> dict[str, Any]:
    """One row of sql/export.sql."""
    line: dict[str, Any] = {
        "pgrecall": FORMAT,
        "request_id": _sent(row["request_id"], row["original_request_id"]),
        "user_id": _sent(row["user_id"], row["original_user_id"]),
        "session_id": _sent(row["session_id"], row["original_session_id"]),
        "messages": [_message(*one) for one in row["messages"] or ()],
        "digest": bytes(row["body_digest"]).hex(),
        "received_at": _written(row["received_at"]),
        "message_count": row["message_count"],
        "extraction": row["extraction"],
    }
    if row["extraction_reason"] is not None:
        line["extraction_reason"] = row["extraction_reason"]
    if row["fact_count"]:
        line["fact_count"] = row["fact_count"]
    if row["facts"]:
        line["facts"] = [_fact(row["first_n"], *one) for one in row["facts"]]
        line["language_model"] = row["language_model"]
        line["prompt_version"] = row["prompt_version"]
    return line


def audit_line(row: DictRow) -> dict[str, Any]:
    """One row of sql/audits.sql."""
    return {
        "pgrecall": FORMAT,
        "user_id": _sent(row["user_id"], row["original_id"]),
        "audit": {
            "audit_id": str(row["audit_id"]),
            "done_at": _written(row["done_at"]),
            "action": row["action"],
            "selected_by": row["selected_by"],
            "messages": row["messages"],
            "facts": row["facts"],
        },
    }


def _message(
    role: str,
    speaker: str,
    content: str,
    position: int,
    dated: bool,
    occurred_at: int | None,
    offset: int,
    hidden_by: str | None,
    states: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    line: dict[str, Any] = {"role": role, "name": speaker, "content": content, "position": position}
    if occurred_at is not None:
        line["timestamp" if dated else "occurred_at"] = _written(occurred_at, offset)
    return line | _kept(hidden_by, states)


def _fact(
    first_n: int,
    content: str,
    position: int,
    source_ns: list[int],
    hidden_by: str | None,
    asked: bool,
    states: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    line: dict[str, Any] = {
        "content": content,
        "position": position,
        "sources": [source - first_n for source in source_ns],
    }
    return line | _kept(hidden_by, states) | ({"asked": True} if asked else {})


def _kept(hidden_by: str | None, states: list[dict[str, Any]] | None) -> dict[str, Any]:
    return ({"hidden_by": hidden_by} if hidden_by else {}) | ({"states": states} if states else {})


def _sent(key: str, original: bytes | None) -> str:
    """An id as it was sent."""
    return key if original is None else bytes(original).decode("utf-8", "surrogatepass")


def _written(microseconds: int, offset: int = 0) -> str:
    """ISO 8601, by the clock that is `offset` minutes ahead of UTC."""
    moment = by_clock(_EPOCH + timedelta(microseconds=microseconds), offset)
    assert moment is not None
    return moment.isoformat()
