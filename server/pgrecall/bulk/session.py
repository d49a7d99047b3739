"""One connection for work in bulk."""

from __future__ import annotations

from contextlib import ExitStack, closing

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow
from psycopg.types import TypeInfo

from pgrecall.connections import search_path, wait_for
from pgrecall.errors import StartRefused
from pgrecall.queries import query


class Packed(bytes):
    """A vector as Postgres takes it. Plain bytes will do in a COPY, where the column's type is said."""


class AsItIs(Dumper):
    """Bytes that are in Postgres' own form already."""

    format = Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


def session(url: str, schema: str) -> psycopg.Connection[TupleRow]:
    """A connection whose transactions are the caller's. Raises StartRefused."""
    with ExitStack() as on_failure:
        connection = on_failure.enter_context(closing(wait_for(url, 0)))
        with connection.transaction():
            row = connection.execute(query("extension").text).fetchone()
            if row is None:
                raise StartRefused("The extension vector is absent.", "Run: pgrecall migrate")
            extension_schema, oid, array_oid, _ = row
            path = search_path(schema, extension_schema)
            connection.execute(
                "SELECT set_config('search_path', %s, false), set_config('jit', 'off', false)", [path]
            )
        connection.autocommit = True
        register_halfvec_info(connection, TypeInfo("halfvec", oid, array_oid))
        connection.adapters.register_dumper(Packed, type("PackedDumper", (AsItIs,), {"oid": oid}))
        on_failure.pop_all()
    return connection
