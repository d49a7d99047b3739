"""Many users in minutes: copies of one who was added over HTTP, made in the database. Every row of every table is
what an Add wrote, but for the user's id and the memories' ids."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

TABLES = ("users", "sessions", "requests", "messages", "terms", "spellings", "dates", "states")
"""Those that an Add without a language model writes, in an order that foreign keys allow."""
AT_ONCE = 50
"""Copies a statement: some 30,000 memories and 400,000 terms."""


def copy_user(connection: psycopg.Connection[Any], user_id: str, first: int, count: int) -> None:
    """Users `<user_id>-<number>` of the numbers from `first` on, each with all that `user_id` has."""
    for start in range(first, first + count, AT_ONCE):
        end = min(start + AT_ONCE, first + count)
        with connection.transaction():
            for table in TABLES:
                connection.execute(_copy(connection, table), {"user_id": user_id, "first": start, "last": end - 1})


def _copy(connection: psycopg.Connection[Any], table: str) -> sql.Composed:
    columns = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        " AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position",
        [table],
    ).fetchall()
    changed = {
        "user_id": sql.SQL("user_id || '-' || number"),
        "id": sql.SQL("gen_random_uuid()"),
    }
    names = [name for (name,) in columns]
    return sql.SQL(
        "INSERT INTO {table} ({names}) SELECT {values}"
        " FROM {table}, generate_series(%(first)s::integer, %(last)s::integer) AS number"
        " WHERE user_id = %(user_id)s"
    ).format(
        table=sql.Identifier(table),
        names=sql.SQL(", ").join(map(sql.Identifier, names)),
        values=sql.SQL(", ").join(changed.get(name, sql.Identifier(name)) for name in names),
    )


def bytes_a_memory(connection: psycopg.Connection[Any]) -> float:
    """Of all tables with their indexes."""
    row = connection.execute(
        "SELECT sum(pg_total_relation_size(format('%%I', name)::regclass)) / (SELECT count(*) FROM messages)"
        " FROM unnest(%s::text[]) AS name",
        [list(TABLES)],
    ).fetchone()
    assert row is not None
    return float(row[0])
