"""What is asked of the database: one method for each of the hot statements."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector
from psycopg.rows import TupleRow

from pgrecall.coded import user_code
from pgrecall.connections import Connections
from pgrecall.deadline import Deadline
from pgrecall.ids import stored_id
from pgrecall.lexical.analysis import VERSION
from pgrecall.memory import Addition, Caps, Forgotten, FoundMemory, Question, Selection, StoredState
from pgrecall.queries import Query, over, query
from pgrecall.rows import (
    addition_parameters,
    analysis_parameters,
    by_clock,
    found,
    search_parameters,
    selection_parameters,
    stored_parameters,
    stored_state,
)

INDEX_LOCK = 0x70677265_696E6478
"""Key of the advisory lock of who copies vectors: "pgreindx" in ASCII."""
BATCH_CHARACTERS = 1_000_000
"""Of memories that are analysed at once: some 2 s in a thread."""


class Store:
    """The memories of all users. Every method raises DatabaseUnavailable and DeadlineExceeded."""

    def __init__(
        self, url: str, *, schema: str, pool_size: int, prepare: bool, candidates: int = Caps().candidates
    ) -> None:
        self._connections = Connections(
            url, schema=schema, pool_size=pool_size, prepare=prepare, ef_search=candidates
        )

    async def open(self) -> None:
        """Raises StartRefused."""
        await self._connections.open()

    @property
    def pgvector(self) -> tuple[int, ...]:
        """Version of the extension, once opened."""
        return self._connections.pgvector

    async def close(self) -> None:
        await self._connections.close()

    def pool(self) -> dict[str, int]:
        """How the connections of this process stand."""
        return self._connections.pool()

    async def run(
        self, statement: Query, user_id: str, parameters: Mapping[str, Any], deadline: Deadline
    ) -> Sequence[TupleRow]:
        """One statement for one user."""
        return await self._connections.run(stored_id(user_id)[0], statement, parameters, deadline)

    async def _run_as_of(
        self,
        statement: Query,
        user_id: str,
        parameters: Mapping[str, Any],
        as_of: datetime | None,
        deadline: Deadline,
    ) -> Sequence[TupleRow]:
        """The statement over all that is stored, or over what had been said by a moment."""
        if as_of is None:
            return await self.run(statement, user_id, parameters, deadline)
        earlier = over("as_of", statement.name)
        return await self.run(earlier, user_id, {**parameters, "as_of": as_of}, deadline)

    async def look(self, user_id: str, request_id: str, deadline: Deadline) -> bytes | None:
        """The digest under which a request was stored, None if it was not."""
        rows = await self.run(query("look"), user_id, {"request_id": stored_id(request_id)[0]}, deadline)
        return bytes(rows[0][0]) if rows else None

    async def add(self, addition: Addition, deadline: Deadline) -> tuple[bytes, bool]:
        """Store all of it, or nothing if the request is there: (digest that stands, whether this one stored
        it)."""
        # In a thread: analysing 1 MB of text takes a second, in which everyone else would wait.
        async with deadline.enforced():
            parameters = await asyncio.to_thread(addition_parameters, addition)
        rows = await self.run(query("add"), addition.user_id, parameters, deadline)
        stored, digest = rows[0]
        return bytes(digest), bool(stored)

    async def search(
        self, user_id: str, question: Question, top_k: int, caps: Caps, deadline: Deadline
    ) -> list[FoundMemory]:
        """The evidence, ordered and bounded as sql/search.sql says."""
        parameters = search_parameters(stored_id(user_id)[0], question, top_k, caps)
        rows = await self._run_as_of(query("search"), user_id, parameters, question.as_of, deadline)
        return [found(row) for row in rows]

    async def forget(
        self, user_id: str, selection: Selection, audit_id: UUID, erase: bool, deadline: Deadline
    ) -> Forgotten:
        """Take memories out of all that a search reads; `erase`: for good."""
        parameters = selection_parameters(selection, audit_id) | {"erase": erase}
        key = stored_id(user_id)[0]
        rows = await self._connections.run(key, query("forget"), parameters, deadline, locked=True)
        return Forgotten(audit_id, *rows[0])

    async def restore(self, user_id: str, selection: Selection, audit_id: UUID, deadline: Deadline) -> Forgotten:
        """Bring hidden memories back, with what is derived from them."""
        key = stored_id(user_id)[0]
        parameters = selection_parameters(selection, audit_id) | {"audit_id": selection.forget_id}
        while rows := await self._connections.run(key, query("forgotten"), parameters, deadline):
            derived = await asyncio.to_thread(stored_parameters, rows)
            written = await self._connections.run(
                key, query("restore"), parameters | derived | {"audit_id": audit_id}, deadline, locked=True
            )
            if written:  # else another call was faster with one of them
                return Forgotten(audit_id, *written[0])
        return Forgotten(audit_id, 0, 0)

    async def states(
        self,
        user_id: str,
        asked: Sequence[tuple[str, str]],
        ns: Sequence[int],
        as_of: datetime | None,
        deadline: Deadline,
    ) -> list[StoredState]:
        """The states of the chains `asked`, pairs of subject key and attribute, and of those that the memories `ns`
        are part of; with all that decides what of them is current."""
        parameters = {
            "subject_keys": [subject for subject, _ in asked],
            "attributes": [attribute for _, attribute in asked],
            "ns": list(ns),
        }
        rows = await self._run_as_of(query("chains"), user_id, parameters, as_of, deadline)
        return [stored_state(row) for row in rows]

    async def newest(self, user_id: str, deadline: Deadline) -> datetime | None:
        """When the user's newest message was said, by its speaker's clock."""
        rows = await self.run(query("newest"), user_id, {}, deadline)
        return by_clock(*rows[0]) if rows else None

    async def unanalysed(self, after: str, deadline: Deadline) -> str | None:
        """The stored key of the first user after one whose log waits to be analysed."""
        rows = await self._connections.run(after, query("unanalysed"), {"terms_version": VERSION}, deadline)
        return str(rows[0][0]) if rows else None

    async def analyse(self, key: str, most: int, deadline: Deadline) -> int:
        """Analyse the next memories of the user with this stored key, at most `most`; how many there were, 0
        where none wait, or another server has them in hand."""
        parameters = {"terms_version": VERSION, "most": most, "characters": BATCH_CHARACTERS}
        rows = await self._connections.run(key, query("texts"), parameters, deadline)
        if not rows:
            return 0
        parameters = await asyncio.to_thread(analysis_parameters, rows)
        written = await self._connections.run(key, query("reanalyse"), parameters, deadline, locked=True)
        return len(rows) if written else 0

    async def unindexed(self, after: str, index_from: int, deadline: Deadline) -> str | None:
        """The stored key of the first user after one whose large log is not all in the vectors' index."""
        rows = await self._connections.run(after, query("unindexed"), {"index_from": index_from}, deadline)
        return str(rows[0][0]) if rows else None

    async def index(self, key: str, most: int, deadline: Deadline) -> int:
        """Copy the next vectors of the user with this stored key into the index, of at most `most` numbers; of how
        many, 0 where none wait, or another server is at it."""
        parameters = {"code": HalfVector(user_code(key)), "most": most, "lock": INDEX_LOCK}
        rows = await self._connections.run(key, query("copy"), parameters, deadline)
        if not rows:
            return 0
        since, until = rows[0]
        done = {"since": since, "until": until}
        await self._connections.run(key, query("copied"), done, deadline, locked=True)
        return int(until - since)

    async def counts(self, deadline: Deadline) -> dict[str, int]:
        """How many users and memories are stored."""
        rows = await self.run(query("counts"), "", {}, deadline)
        return {"users": rows[0][0], "memories": rows[0][1]}
