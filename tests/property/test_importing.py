"""An import leaves what its Adds one by one would have left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC
from io import BytesIO
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from ops.bench.provider import StandIn
from pgrecall.adding import Adding
from pgrecall.app import make_embedder, make_language_model
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

CONTENTS = (
    "I moved to Porto yesterday.",
    "My sister lives in Oslo, and my phone number is 555 0134.",
    "Caroline: I bought a 35mm lens for 40 crowns last week",
    "我去年夏天搬到了上海",
    "Nothing new.",
    "   ",
    "a" * 3000,
    "It rained\x00 all day \ud83d\ude00",
)
IDS = ("ana", "béa", "x" * 600, "sha256:of no one", "\ud800")
messages = st.fixed_dictionaries(
    {"content": st.sampled_from(CONTENTS)},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "name": st.sampled_from(["Nils", None]),
        "timestamp": st.sampled_from([1684591200000, 1684591200, "2023-05-20T14:00:00+02:00", "soon", None]),
    },
)
bodies = st.fixed_dictionaries(
    {
        "request_id": st.sampled_from(["r1", "r2", "r3", "r4", "x" * 700]),
        "user_id": st.sampled_from(IDS),
        "session_id": st.sampled_from(["s1", "s2"]),
        "messages": st.lists(messages, min_size=1, max_size=4),
    },
    optional={"timezone": st.sampled_from(["Europe/Berlin", "nowhere"])},
)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


class Both:
    """Two databases: one that is added to, one that is imported into."""

    def __init__(self, runner: asyncio.Runner, added: str, imported: str, given: Settings) -> None:
        self._runner = runner
        self.settings = given
        self.urls = added, imported
        self._store = Store(added, schema="public", pool_size=4, prepare=True)
        runner.run(self._store.open())
        self._adding = Adding(
            self._store, make_embedder(given), make_language_model(given), required=False,
            fact_tokens=given.llm_fact_tokens, keyed=given.fact_keys, tally=Tally(),
        )  # fmt: skip
        self._preparing = Preparing(given, imported)
        self._writer = session(imported, "public")

    def close(self) -> None:
        self._runner.run(self._store.close())
        self._writer.close()
        self._preparing.close()

    def empty(self) -> None:
        for url in self.urls:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("TRUNCATE users, audit, terms, spellings, dates, states CASCADE")

    def add(self, bodies: list[dict[str, Any]]) -> tuple[int, int]:
        """One by one; how many there were before, how many conflicted."""
        conflicts, tally = 0, self._adding._tally.calls
        before = tally["repeats"]
        for body in bodies:
            try:
                self._runner.run(self._adding.add(read_add(body, UTC), Deadline(60)))
            except RequestConflict:
                conflicts += 1
        return tally["repeats"] - before, conflicts

    def put(self, bodies: list[dict[str, Any]]) -> list[tuple[Prepared, Written]]:
        """As an import does, chunk after chunk."""
        file = BytesIO(b"".join(json.dumps(body).encode() + b"\n" for body in bodies))
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


@pytest.fixture(scope="module")
def plain(runner: asyncio.Runner, new_database: Callable[..., str]) -> Iterator[Both]:
    both = Both(runner, new_database(), new_database(), Settings())
    yield both
    both.close()


@given(st.lists(bodies, min_size=1, max_size=12), st.lists(bodies, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_import_leaves_what_the_adds_leave(
    plain: Both, first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    plain.empty()
    for sent in (first, second, first):
        repeats, conflicts = plain.add(sent)
        done = plain.put(sent)
        assert sum(len(p.repeats) + len(w.repeats) for p, w in done) == repeats
        assert sum(len(p.conflicts) + len(w.conflicts) for p, w in done) == conflicts
        added, imported = map(rows, plain.urls)
        assert imported == added


def test_import_draws_the_facts_and_states_that_the_adds_draw(
    runner: asyncio.Runner, new_database: Callable[..., str]
) -> None:
    with StandIn() as provider:
        given = Settings(llm_mode="best_effort", llm_base_url=provider.base_url, llm_retries=0, fact_keys=True)
        both = Both(runner, new_database(), new_database(), given)
        sent = [
            {
                "request_id": f"r{number}",
                "user_id": f"u{number % 2}",
                "session_id": "s",
                "messages": [
                    {"role": "user", "content": text, "timestamp": 1684591200000 + number} for text in CONTENTS[:5]
                ],
            }
            for number in range(4)
        ]
        both.add(sent)
        both.put(sent)
        added, imported = map(rows, both.urls)
        both.close()
    assert len(added["facts"]) > 4
    assert imported == added
