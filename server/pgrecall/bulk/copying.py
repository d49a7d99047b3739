"""The rows of requests whose numbers are drawn, by COPY into the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from pgrecall.bulk.ready import FACT, MESSAGE, Ready, Row
from pgrecall.queries import query

PLACE = ("user_id", "session_id", "request_id", "n", "turn_index", "position")
PLACE_TYPES = ("text", "text", "text", "int8", "int4", "int4")
MESSAGE_TYPES = (
    "uuid", "text", "text", "text", "timestamptz", "bool", "int2", "bytea", "int4", "int4", "int4", "int4",
    "halfvec",
)  # fmt: skip
FACT_ONLY = ("source_ns", "occurred_at", "utc_offset", "language_model", "prompt_version")
FACT_ONLY_TYPES = ("int8[]", "timestamptz", "int2", "text", "int2")
FACT_TYPES = ("uuid", "text", "bytea", "int4", "int4", "int4", "int4", "halfvec")
TERM = ("user_id", "n", "term", "count", "length", "words")
DATE = ("user_id", "n", "place", "surface", "grain", "first_day", "last_day", "rule")
STATE = (
    "user_id", "n", "place", "subject_key", "attribute", "value", "relative", "closes", "drawn", "alone",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drawn:
    """A request with its first numbers."""

    one: Ready
    first_n: int
    first_turn: int


def copy(connection: psycopg.Connection[TupleRow], drawn: Sequence[Drawn]) -> None:
    """All that they bring, in the transaction that drew their numbers."""
    if not drawn:
        return
    hidden, shown = _parted(_message(one, row) for one in drawn for row in one.one.messages)
    columns, types = (*PLACE, *MESSAGE), (*PLACE_TYPES, *MESSAGE_TYPES)
    _binary(connection, "messages", columns, types, shown)
    _binary(connection, "forgotten_messages", (*columns, "audit_id"), (*types, "uuid"), hidden)
    hidden, shown = _parted(_fact(one, row) for one in drawn for row in one.one.facts)
    columns, types = (*PLACE, *FACT_ONLY, *FACT), (*PLACE_TYPES, *FACT_ONLY_TYPES, *FACT_TYPES)
    _binary(connection, "facts", columns, types, shown)
    _binary(connection, "forgotten_facts", (*columns, "audit_id", "asked"), (*types, "uuid", "bool"), hidden)
    for table, names in (("terms", TERM), ("dates", DATE), ("states", STATE)):
        of = attrgetter(table)
        _text(
            connection,
            table,
            names,
            ((d.one.user_id, d.first_n + row[0], *row[1:]) for d in drawn for row in of(d.one)),
        )
    words = list({(d.one.user_id, *pair) for d in drawn for pair in d.one.words})
    connection.execute(
        query("spell").text,
        {
            "user_ids": [user for user, _, _ in words],
            "words": [word for _, word, _ in words],
            "terms": [term for _, _, term in words],
        },
    )


def _message(drawn: Drawn, row: Row) -> tuple[Row, Row]:
    """Its row, and what follows in the table of those that are hidden."""
    position, hidden_by, *columns = row
    one = drawn.one
    place = (
        one.user_id,
        one.session_id,
        one.request_id,
        drawn.first_n + position,
        drawn.first_turn + position,
        position,
    )
    return (*place, *columns), () if hidden_by is None else (hidden_by,)


def _fact(drawn: Drawn, row: Row) -> tuple[Row, Row]:
    position, hidden, sources, occurred_at, offset, *columns = row
    one = drawn.one
    n, turn_index = drawn.first_n + one.message_count + position, drawn.first_turn + sources[0]
    source_ns = [drawn.first_n + source for source in sources]
    return (
        one.user_id, one.session_id, one.request_id, n, turn_index, position, source_ns, occurred_at, offset,
        *one.drawn_by, *columns,
    ), hidden or ()  # fmt: skip


def _parted(rows: Iterable[tuple[Row, Row]]) -> tuple[list[Row], list[Row]]:
    """Rows of hidden memories and of the others."""
    hidden: list[Row] = []
    shown: list[Row] = []
    for row, forgotten in rows:
        (hidden if forgotten else shown).append((*row, *forgotten))
    return hidden, shown


def _binary(
    connection: psycopg.Connection[TupleRow],
    table: str,
    columns: Sequence[str],
    types: Sequence[str],
    rows: list[Row],
) -> None:
    """Vectors as bytes: as text one took ten times the rest of its row."""
    if not rows:
        return
    with connection.cursor().copy(_statement(table, columns, " (FORMAT binary)")) as into:
        into.set_types(types)
        for row in rows:
            into.write_row(row)


def _text(
    connection: psycopg.Connection[TupleRow], table: str, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """As text, since the words of a term come as the text of an array."""
    with connection.cursor().copy(_statement(table, columns, "")) as into:
        for row in rows:
            into.write_row(row)


def _statement(table: str, columns: Sequence[str], form: str) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {} ({}) FROM STDIN" + form).format(sql.Identifier(table), names)
