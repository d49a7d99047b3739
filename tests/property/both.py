"""Two databases: one that is added to, one that is imported into; and what stands in them."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC
from io import BytesIO
from typing import Any

import psycopg
from psycopg import sql

from pgrecall.adding import Adding
from pgrecall.app import make_embedder, make_language_model
from pgrecall.bulk.exporting import export
from pgrecall.bulk.preparing import Prepared, Preparing
from pgrecall.bulk.reading import chunks
from pgrecall.bulk.session import session
from pgrecall.bulk.writing import Written, write
from pgrecall.contract import read_add
from pgrecall.deadline import Deadline
from pgrecall.errors import RequestConflict
from pgrecall.settings import Settings
from pgrecall.store import Store
from pgrecall.tally import Tally

TABLES = {
    "users": "user_id",
    "sessions": "user_id, session_id",
    "requests": "user_id, request_id",
    "messages": "user_id, n",
    "facts": "user_id, n",
    "terms": "user_id, term, n",
    "spellings": "user_id, key, missing, term",
    "dates": "user_id, n, place",
    "states": "user_id, n, place",
}
BY_THE_CLOCK = {"users": ["created_at"], "requests": ["received_at"]}
"""Columns that say when a row was written."""


class Both:
    """Two databases: one that is added to, one that is imported into."""

    def __init__(
        self, runner: asyncio.Runner, added: str, imported: str, given: Settings, zone: str = "UTC"
    ) -> None:
        """`zone`: that of the settings of who imports, which no exported line may depend on."""
        self._runner = runner
        self.settings = given
        self.urls = added, imported
        self.store = Store(added, schema="public", pool_size=4, prepare=True)
        runner.run(self.store.open())
        self._embedder, self._model = make_embedder(given), make_language_model(given)
        self.adding = Adding(
            self.store, self._embedder, self._model, required=False,
            fact_tokens=given.llm_fact_tokens, keyed=given.fact_keys, tally=Tally(),
        )  # fmt: skip
        self._preparing = Preparing(given.model_copy(update={"timezone": zone}), imported)
        self._writer = session(imported, "public")

    def close(self) -> None:
        for one in (self.store, self._embedder, self._model):
            if one is not None:
                self._runner.run(one.close())
        self._writer.close()
        self._preparing.close()

    def empty(self) -> None:
        for url in self.urls:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("TRUNCATE users, audit, terms, spellings, dates, states CASCADE")

    def add(self, bodies: list[dict[str, Any]]) -> tuple[int, int]:
        """One by one; how many there were before, how many conflicted."""
        conflicts, tally = 0, self.adding._tally.calls
        before = tally["repeats"]
        for body in bodies:
            try:
                self._runner.run(self.adding.add(read_add(body, UTC), Deadline(60)))
            except RequestConflict:
                conflicts += 1
        return tally["repeats"] - before, conflicts

    def put(self, bodies: list[dict[str, Any]]) -> list[tuple[Prepared, Written]]:
        return self.read(b"".join(json.dumps(body).encode() + b"\n" for body in bodies))

    def read(self, text: bytes) -> list[tuple[Prepared, Written]]:
        """As an import does, chunk after chunk."""
        file = BytesIO(text)
        done = []
        for chunk in chunks(file):
            prepared = self._preparing.prepare(chunk.bodies, dry=False)
            done.append((prepared, write(self._writer, prepared.ready, prepared.audits)))
        return done


def rows(url: str) -> dict[str, list[str]]:
    """Every row of every table, every column of it but when it was written."""
    found = {}
    with psycopg.connect(url) as connection:
        for table, order in TABLES.items():
            names = [sql.SQL(f"- '{name}'") for name in BY_THE_CLOCK.get(table, [])]
            statement = sql.SQL("SELECT (to_jsonb(t) {})::text FROM {} AS t ORDER BY {}").format(
                sql.SQL(" ").join(names), sql.Identifier(table), sql.SQL(order)
            )
            found[table] = [text for (text,) in connection.execute(statement).fetchall()]
    return found


def exported(url: str, user_id: str | None = None) -> bytes:
    """The lines of an export."""
    file = BytesIO()
    with session(url, "public") as connection:
        for _ in export(connection, file, user_id):
            pass
    return file.getvalue()
