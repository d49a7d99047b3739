"""What an Add leaves behind: once however often it is sent, numbered without gap however many come at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector.psycopg import register_vector_async
from psycopg import sql

from pgrecall.deadline import Deadline
from pgrecall.memory import DIMENSIONS, Addition, Caps, Extraction, Fact, Message, Question
from pgrecall.queries import query
from pgrecall.rows import addition_parameters
from pgrecall.store import Store
from tests.property import logs
from tests.running import fresh

TABLES = ("users", "sessions", "requests", "messages", "facts", "terms", "spellings")


@pytest.fixture(scope="module")
def looker(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Hypothesis runs its examples outside of any event loop."""
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def store(database: str, runner: asyncio.Runner) -> Iterator[Store]:
    made = Store(database, schema="public", pool_size=6, prepare=True)
    runner.run(made.open())
    yield made
    runner.run(made.close())


def rows_of(looker: psycopg.Connection, user: str) -> dict[str, list[str]]:
    """Every row of the user, every column of it, as text."""
    rows = {}
    for table in TABLES:
        statement = sql.SQL("SELECT t::text FROM {} AS t WHERE user_id = %s ORDER BY 1").format(
            sql.Identifier(table)
        )
        rows[table] = [text for (text,) in looker.execute(statement, [user]).fetchall()]
    return rows


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_adding_twice_leaves_what_adding_once_left(
    store: Store, runner: asyncio.Runner, looker: psycopg.Connection, data: st.DataObject
) -> None:
    user = fresh("twice")
    additions = data.draw(logs.logs(user, most=3))
    for addition in additions:
        assert runner.run(store.add(addition, Deadline(30))) == (addition.body_digest, True)
    once = rows_of(looker, user)
    assert len(once["messages"]) == sum(len(a.messages) for a in additions)
    assert len(once["facts"]) == sum(len(a.facts) for a in additions)
    for addition in data.draw(st.permutations(additions)):
        assert runner.run(store.add(addition, Deadline(30))) == (addition.body_digest, False)
    assert rows_of(looker, user) == once


@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_another_body_under_the_same_request_id_changes_nothing(
    store: Store, runner: asyncio.Runner, looker: psycopg.Connection, data: st.DataObject
) -> None:
    user = fresh("other")
    first = data.draw(logs.additions(user, "request"))
    second = data.draw(logs.additions(user, "request"))
    assert runner.run(store.add(first, Deadline(30)))[1]
    once = rows_of(looker, user)
    other_digest = hashlib.sha256(first.body_digest).digest()
    answer = runner.run(store.add(replace(second, body_digest=other_digest), Deadline(30)))
    assert answer == (first.body_digest, False)
    assert rows_of(looker, user) == once


@given(st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_adds_at_once_number_memories_and_turns_without_gap_or_double(
    store: Store, runner: asyncio.Runner, looker: psycopg.Connection, data: st.DataObject
) -> None:
    """Each is sent twice, all at the same time: two of the same may meet."""
    user = fresh("crowd")
    additions = [data.draw(logs.additions(user, f"request-{place}")) for place in range(8)]

    async def crowd() -> list[tuple[bytes, bool]]:
        return await asyncio.gather(*(store.add(a, Deadline(30)) for a in [*additions, *additions]))

    answers = runner.run(crowd())
    assert [digest for digest, _ in answers] == [a.body_digest for a in [*additions, *additions]]
    assert all(first[1] != second[1] for first, second in zip(answers[:8], answers[8:], strict=True))
    check_numbers(looker, user, additions)


@pytest.mark.parametrize("commits", [True, False])
def test_memories_are_numbered_in_the_order_of_commits(
    database: str, store: Store, runner: asyncio.Runner, looker: psycopg.Connection, commits: bool
) -> None:
    """An Add waits for the one that took numbers before it, and takes them over if that one rolls back."""
    user = fresh("order")
    first, second = (spoken(user, f"request-{place}") for place in range(2))

    async def meet() -> None:
        async with await psycopg.AsyncConnection.connect(database) as holder:
            await register_vector_async(holder)
            await holder.execute(query("add").text, {"user_id": user, **addition_parameters(first)})
            waiting = asyncio.create_task(store.add(second, Deadline(30)))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            assert await store.search(user, Question(), 10, Caps(), Deadline(30)) == []
            await (holder.commit() if commits else holder.rollback())
            assert await waiting == (second.body_digest, True)

    runner.run(meet())
    check_numbers(looker, user, [first, second] if commits else [second])
    last = looker.execute("SELECT request_id FROM messages WHERE user_id = %s ORDER BY n DESC", [user]).fetchone()
    assert last == ("request-1",)


def spoken(user: str, request: str) -> Addition:
    said = tuple(Message("user", "I", f"{request} {place}", None) for place in range(3))
    vectors = np.eye(3, DIMENSIONS, dtype=np.float32)
    return Addition(
        user, request, "s", bytes(32), said, vectors, (Fact("I spoke.", (1,)),), vectors[:1],
        Extraction.DONE, None, 1, "stand-in",
    )  # fmt: skip


def check_numbers(looker: psycopg.Connection, user: str, additions: list[Addition]) -> None:
    memories = looker.execute(
        "SELECT n, request_id, 0 AS kind, position FROM messages WHERE user_id = %(user)s"
        " UNION ALL SELECT n, request_id, 1, position FROM facts WHERE user_id = %(user)s ORDER BY n",
        {"user": user},
    ).fetchall()
    assert [n for n, *_ in memories] == list(range(sum(len(a.messages) + len(a.facts) for a in additions)))
    order = list(dict.fromkeys(request for _, request, *_ in memories))
    places = [(order.index(request), kind, position) for _, request, kind, position in memories]
    assert places == sorted(places), "a request's memories stand together, messages first, in their order"
    for session in {a.session_id for a in additions}:
        turns = looker.execute(
            "SELECT turn_index FROM messages WHERE user_id = %s AND session_id = %s ORDER BY n", [user, session]
        ).fetchall()
        assert [turn for (turn,) in turns] == list(range(len(turns)))
    wrong = looker.execute(
        "SELECT f.n FROM facts f WHERE user_id = %s AND NOT EXISTS (SELECT FROM messages m WHERE m.user_id ="
        " f.user_id AND m.request_id = f.request_id AND m.n = f.source_ns[1] AND m.turn_index = f.turn_index)",
        [user],
    ).fetchall()
    assert wrong == [], "a fact rests on messages of its own request"
