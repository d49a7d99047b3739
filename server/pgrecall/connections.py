"""Connections to Postgres. The only module that opens any, and the one place where its errors become ours."""

from __future__ import annotations

import math
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg.rows import TupleRow
from psycopg.types import TypeInfo
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from pgrecall.deadline import Deadline
from pgrecall.errors import DatabaseUnavailable, DeadlineExceeded, StartRefused
from pgrecall.queries import Query, query

CONNECT_TIMEOUT = 10
"""Seconds for one connection attempt, and for a free connection of the pool."""

RECONNECT_SECONDS = CONNECT_TIMEOUT
"""How long the pool tries by itself, in pauses that double; after that each call makes it try at once. With the
default of 300 s it waits another minute after an outage of one."""

PASSING = (
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)
"""Errors beside OperationalError that another try may not meet: failover, locks."""


def quoted(identifier: str) -> str:
    """An SQL identifier, quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def conninfo(url: str) -> str:
    """A URL as libpq reads it; SQLAlchemy's `postgresql+driver://` is accepted. Parameters pass through."""
    return re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url)


def reason(error: BaseException) -> str:
    """The server's own first line on an error of connecting or migrating: no row contents stand there."""
    cause = getattr(error, "orig", None) or error
    diagnostic = getattr(cause, "diag", None)
    primary = diagnostic.message_primary if diagnostic is not None else None
    return primary or (str(cause).strip().splitlines() or [type(cause).__name__])[0]


@contextmanager
def administration(url: str, schema: str, wait: float = 0.0) -> Iterator[Connection]:
    """One SQLAlchemy connection for migrations and checks; waits up to `wait` s for the database."""
    raw = wait_for(url, wait)
    engine = create_engine("postgresql+psycopg://", creator=lambda: raw, poolclass=NullPool)
    with engine.connect() as connection:
        set_search_path(connection, schema)
        yield connection


def set_search_path(connection: Connection, schema: str) -> None:
    """The schema of the tables, then that of the extension, wherever the administrator put it."""
    found = connection.execute(
        text(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
            " WHERE extname = 'vector'"
        )
    ).scalar()
    path = search_path(schema, found)
    connection.execute(text("SELECT set_config('search_path', :path, false)"), {"path": path})
    connection.commit()
    connection.dialect.default_schema_name = schema


def search_path(schema: str, extension_schema: str | None) -> str:
    return ", ".join(quoted(name) for name in dict.fromkeys([schema, extension_schema or schema]))


def wait_for(url: str, wait: float) -> psycopg.Connection[TupleRow]:
    """A connection, as soon as the database takes one. Raises StartRefused after `wait` seconds, and at once
    where waiting cannot help (a wrong password, an unknown database). `wait` 0: one attempt, which may take
    CONNECT_TIMEOUT. No attempt ends before 2 s, as in libpq: a host that is silent may cost those beyond `wait`."""
    until = time.monotonic() + wait
    while True:
        left = math.ceil(until - time.monotonic()) if wait else CONNECT_TIMEOUT
        try:
            return psycopg.connect(conninfo(url), connect_timeout=max(1, min(CONNECT_TIMEOUT, left)))
        except psycopg.Error as error:
            final = isinstance(error, psycopg.ProgrammingError) or any(
                sign in str(error)
                for sign in ("password authentication failed", "does not exist", "no pg_hba.conf entry")
            )
            if final or time.monotonic() > until:
                raise StartRefused(
                    f"The database cannot be reached: {reason(error)}",
                    "Check PGRECALL_DATABASE_URL; PGRECALL_DATABASE_WAIT is how long a start may take.",
                ) from error
            time.sleep(0.25)


class Connections:
    """A pool; each statement travels in one pipeline behind the preamble: one round trip, one transaction."""

    def __init__(self, url: str, *, schema: str, pool_size: int, prepare: bool, ef_search: int) -> None:
        self._schema = schema
        self._ef_search = str(ef_search)
        self.pgvector: tuple[int, ...] = ()
        """Its version; empty until opened."""
        self._prepare = prepare
        self._search_path = ""
        self._halfvec: TypeInfo | None = None
        self._preamble = query("preamble")
        self._url = conninfo(url)
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[TupleRow]] = AsyncConnectionPool(
            self._url,
            kwargs={"autocommit": True, "connect_timeout": CONNECT_TIMEOUT},
            min_size=min(2, pool_size),
            max_size=pool_size,
            configure=self._configure,
            reconnect_timeout=RECONNECT_SECONDS,
            open=False,
            name="pgrecall",
        )

    async def open(self) -> None:
        """Learn where the extension lives, then fill the pool. Raises StartRefused."""
        try:
            async with await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT
            ) as connection:
                cursor = await connection.execute(query("extension").text)
                row = await cursor.fetchone()
            if row is None:
                raise StartRefused("The extension vector is absent.", "Run: pgrecall migrate")
            extension_schema, oid, array_oid, version = row
            self.pgvector = tuple(int(part) for part in version.split(".")[:3])
            self._halfvec = TypeInfo("halfvec", oid, array_oid)
            self._search_path = search_path(self._schema, extension_schema)
            await self._pool.open(wait=True, timeout=CONNECT_TIMEOUT)
        except (psycopg.Error, PoolTimeout) as error:
            await self._pool.close()
            raise StartRefused(
                f"The database takes no connections: {reason(error)}",
                "See that it runs, and has two connections free for each of PGRECALL_WORKERS.",
            ) from error

    async def close(self) -> None:
        await self._pool.close()

    def pool(self) -> dict[str, int]:
        """Of this process: connections, those free, calls that wait for one, calls that waited in vain so far."""
        stats = self._pool.get_stats()
        names = ("pool_size", "pool_available", "requests_waiting", "requests_errors")
        size, free, waiting, exhausted = (stats.get(name, 0) for name in names)
        return {"size": size, "free": free, "waiting": waiting, "exhausted": exhausted}

    async def _configure(self, connection: psycopg.AsyncConnection[TupleRow]) -> None:
        assert self._halfvec is not None
        register_halfvec_info(connection, self._halfvec)
        # At the first use: psycopg's own rule lets each connection plan an Add, 4 ms, five times before.
        connection.prepare_threshold = 0 if self._prepare else None

    async def run(
        self,
        key: str,
        statement: Query,
        parameters: Mapping[str, Any],
        deadline: Deadline,
        *,
        locked: bool = False,
    ) -> Sequence[TupleRow]:
        """One statement for the user with this stored key; `locked`: while no Add of that user is under way.
        Raises DatabaseUnavailable, DeadlineExceeded.

        A connection that the server closed is found out only by using it: the pool is then swept, and the
        statement sent once more. Every statement may be sent twice: an Add that was stored is a repeat.
        """
        async with translated(), deadline.enforced():
            try:
                return await self._send(statement, key, parameters, deadline, locked)
            except PoolTimeout:
                raise  # an OperationalError too: no connection came, and waiting as long again brings none
            except psycopg.OperationalError as error:
                if error.sqlstate not in (None, "57P01", "57P02", "57P03"):
                    raise
                await self._pool.check()
                return await self._send(statement, key, parameters, deadline, locked)

    async def _send(
        self, statement: Query, key: str, parameters: Mapping[str, Any], deadline: Deadline, locked: bool
    ) -> Sequence[TupleRow]:
        # Before the time is up: a caller learns that the database is away, not only that it took too long.
        async with self._pool.connection(timeout=min(CONNECT_TIMEOUT, 0.9 * deadline.clip(3600))) as connection:
            preamble = {
                "user_id": key,
                "search_path": self._search_path,
                "statement_timeout": str(max(1, int(deadline.left * 1000))),
                "ef_search": self._ef_search,
            }
            cursor = connection.cursor()
            async with connection.pipeline():
                await connection.execute(self._preamble.text, preamble)
                if locked:
                    await connection.execute(query("lock").text, {"user_id": key})
                await cursor.execute(statement.text, {"user_id": key, **parameters})
            return await cursor.fetchall()


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Errors of Postgres as ours. Their text may hold contents: only the SQLSTATE goes on."""
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        raise DeadlineExceeded("the statement took longer than the call's time; send it again") from error
    except (
        psycopg.OperationalError,
        psycopg.InterfaceError,
        PoolTimeout,
        PoolClosed,
        OSError,
        *PASSING,
    ) as error:
        state = getattr(error, "sqlstate", None)
        raise DatabaseUnavailable(
            "the database cannot be reached or is busy; send it again" + (f" (SQLSTATE {state})" if state else "")
        ) from error
