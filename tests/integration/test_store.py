"""The store on a real Postgres: statements a call costs, what a connection keeps, and every way it can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import httpx2
import numpy as np
import psycopg
import pytest

from pgrecall.deadline import Deadline
from pgrecall.errors import DatabaseUnavailable, DeadlineExceeded
from pgrecall.ids import MAX_BYTES, stored_id
from pgrecall.memory import DIMENSIONS, Addition, Caps, Extraction, Message, Question
from pgrecall.queries import Query
from pgrecall.store import Store
from tests.integration.proxy import Proxy
from tests.running import add_body, fresh, serving

SLEEP = Query("sleep", b"SELECT pg_sleep(20) WHERE %(user_id)b::text IS NOT NULL", {"user_id": "text"})
WHERE = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@asynccontextmanager
async def opened(url: str, pool_size: int = 2, prepare: bool = True) -> AsyncIterator[Store]:
    store = Store(url, schema="public", pool_size=pool_size, prepare=prepare)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def addition(user: str, content: str = "I ran today") -> Addition:
    said = (Message("user", "I", content, None),)
    vectors = np.eye(1, DIMENSIONS, dtype=np.float32)
    return Addition(
        user, fresh("request"), "s", bytes(32), said, vectors, (), vectors[:0], Extraction.OFF, None, 1, ""
    )


async def contents(store: Store, user: str, seconds: float = 30) -> list[str]:
    found = await store.search(user, Question(), 10, Caps(), Deadline(seconds))
    return [memory.content for memory in found]


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


# What a call costs: counted on the wire, where nothing can hide.


@pytest.fixture(scope="module")
def counted(database: str) -> Iterator[tuple[httpx2.Client, Proxy]]:
    with Proxy(database) as proxy, serving(proxy.url()) as client:
        yield client, proxy


def statements(proxy: Proxy, call: Callable[[], httpx2.Response]) -> int:
    """The statements of one call, each with its preamble in one round trip and one transaction."""
    proxy.sent.clear()
    assert call().status_code == 200
    # Having sent S, psycopg may add an H: it waits for no answer in between, and H may come after ours.
    wire = "".join(proxy.sent).lstrip("H").replace("SH", "S")
    assert set(wire) <= set("PBDES"), "something went outside of the pipeline, or waited within it"
    transactions = wire.split("S")
    assert transactions.pop() == ""
    assert all(one.count("B") == one.count("E") == 2 for one in transactions), "a preamble and one statement"
    return len(transactions)


def test_add_costs_two_statements_and_a_repeat_one(counted: tuple[httpx2.Client, Proxy], user: str) -> None:
    client, proxy = counted
    body = add_body(user, *(f"I ran {distance} km" for distance in range(12)))
    assert statements(proxy, lambda: client.post("/add", json=body)) == 2
    assert statements(proxy, lambda: client.post("/add", json=body)) == 1


def test_search_costs_one_statement(counted: tuple[httpx2.Client, Proxy], user: str) -> None:
    client, proxy = counted
    client.post("/add", json=add_body(user, "I ran 5 km")).raise_for_status()
    for query in ("How far did I run?", "", "of the"):
        body = {"user_id": user, "query": query, "top_k": 5}
        assert statements(proxy, partial(client.post, "/search", json=body)) == 1


def test_search_costs_one_statement_also_once_it_is_prepared(
    counted: tuple[httpx2.Client, Proxy], user: str
) -> None:
    client, proxy = counted
    body = {"user_id": user, "query": "How far did I run?", "top_k": 5}
    for _ in range(20):
        assert statements(proxy, lambda: client.post("/search", json=body)) == 1


# What a connection keeps between two runs.


async def test_nothing_of_a_run_is_left_on_its_connection(database: str, user: str) -> None:
    async with opened(database, pool_size=1) as store:
        await store.add(addition(user), Deadline(30))
        assert await contents(store, user) == ["I ran today"]
        async with store._connections._pool.connection() as connection:  # the very one that served the runs
            cursor = await connection.execute(
                "SELECT coalesce(current_setting('pgrecall.user_id', true), ''), current_setting('search_path'),"
                " current_setting('statement_timeout'), current_setting('application_name')"
            )
            assert await cursor.fetchone() == ("", '"$user", public', "0", "")


async def test_users_that_share_one_connection_never_see_each_other(database: str) -> None:
    mine, yours = fresh("mine"), fresh("yours")
    setting = Query(
        "setting", b"SELECT current_setting('pgrecall.user_id'), %(user_id)b::text", {"user_id": "text"}
    )
    async with opened(database, pool_size=1) as store:
        await store.add(addition(mine, "I ran"), Deadline(30))
        await store.add(addition(yours, "I swam"), Deadline(30))
        for _ in range(8):  # psycopg prepares a statement at its sixth run
            for user, expected in ((mine, "I ran"), (yours, "I swam")):
                assert await contents(store, user) == [expected]
                assert await store.run(setting, user, {}, Deadline(30)) == [(user, user)]


@pytest.mark.parametrize("prepare", [True, False])
async def test_statements_are_prepared_unless_that_is_off(database: str, user: str, prepare: bool) -> None:
    prepared = Query(
        "prepared",
        b"SELECT count(*) FROM pg_prepared_statements WHERE %(user_id)b::text <> ''",
        {"user_id": "text"},
    )
    async with opened(database, pool_size=1, prepare=prepare) as store:
        await store.add(addition(user), Deadline(30))
        for _ in range(10):
            assert await contents(store, user) == ["I ran today"]
        rows = await store.run(prepared, user, {}, Deadline(30))
        assert (rows[0][0] > 0) == prepare


async def test_newest_of_an_undated_log_are_the_last_that_were_said(database: str, user: str) -> None:
    async with opened(database, pool_size=1) as store:
        for number in range(9):
            await store.add(addition(user, f"I ran {number}"), Deadline(30))
        found = await store.search(user, Question(), 3, Caps(window_radius=0), Deadline(30))
    assert [memory.content for memory in found] == ["I ran 8", "I ran 7", "I ran 6"]


# Ids


async def test_odd_ids_are_kept_apart_and_the_longest_fit_every_index(
    new_database: Callable[..., str],
) -> None:
    database = new_database()  # of its own: other tests may use the same odd ids
    random = np.random.default_rng(1)
    long = "".join(chr(code) for code in random.integers(33, 127, size=MAX_BYTES))  # does not compress
    kin = [long, long + "x", stored_id(long + "x")[0], "Ä", "A\u0308", "a", "a "]
    users = ["\0", "\0\0", "\ud800", "\udfff", *kin]
    async with opened(database) as store:
        for user in users:
            sent = replace(addition(user, repr(user)), request_id=user, session_id=user)
            assert await store.add(sent, Deadline(30)) == (bytes(32), True)
            assert await store.add(sent, Deadline(30)) == (bytes(32), False)
        for user in users:
            assert await contents(store, user) == [repr(user)]


# Postgres fails.


async def test_killed_connections_cost_neither_an_add_nor_a_search(new_database: Callable[..., str]) -> None:
    url = new_database()
    async with opened(url, pool_size=4) as store:
        for number in range(3):
            execute(url, WHERE.replace("pid FROM", "pg_terminate_backend(pid, 5000) FROM"))
            await store.add(addition("u", f"I ran {number}"), Deadline(30))
            execute(url, WHERE.replace("pid FROM", "pg_terminate_backend(pid, 5000) FROM"))
            answers = await asyncio.gather(*(contents(store, "u") for _ in range(12)))
            assert {len(answer) for answer in answers} == {number + 1}


async def test_database_that_is_away_is_unavailable_until_it_is_back(database: str, user: str) -> None:
    with Proxy(database) as proxy:
        async with opened(proxy.url()) as store:
            await store.add(addition(user), Deadline(30))
            await asyncio.to_thread(proxy.stop)
            for _ in range(2):
                with pytest.raises(DatabaseUnavailable):
                    await contents(store, user, seconds=1)
                with pytest.raises(DatabaseUnavailable):
                    await store.add(addition(user), Deadline(1))
            proxy.start()
            assert await contents(store, user) == ["I ran today"]


async def test_statement_past_the_deadline_ends_on_both_sides(new_database: Callable[..., str]) -> None:
    url = new_database()
    async with opened(url, pool_size=1) as store:
        started = asyncio.get_running_loop().time()
        with pytest.raises(DeadlineExceeded):
            await store.run(SLEEP, "u", {}, Deadline(0.3))
        assert asyncio.get_running_loop().time() - started < 2
        await asyncio.sleep(0.2)
        assert execute(url, f"{WHERE} AND query LIKE '%pg_sleep%' AND state = 'active'") == []
        assert await contents(store, "u") == [], "its connection is replaced"


async def test_exhausted_pool_is_unavailable_within_the_deadline(database: str, user: str) -> None:
    async with opened(database, pool_size=1) as store:
        holder = asyncio.create_task(store.run(SLEEP, user, {}, Deadline(2)))
        await asyncio.sleep(0.1)
        started = asyncio.get_running_loop().time()
        with pytest.raises(DatabaseUnavailable):
            await contents(store, user, seconds=0.5)
        assert asyncio.get_running_loop().time() - started < 0.7
        with pytest.raises(DeadlineExceeded):
            await holder


async def test_read_only_database_searches_but_takes_no_add(new_database: Callable[..., str]) -> None:
    url = new_database()
    async with opened(url) as store:
        await store.add(addition("u"), Deadline(30))
    execute(url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on',"
                 " current_database()); END $$")  # fmt: skip
    async with opened(url) as store:
        with pytest.raises(DatabaseUnavailable, match="25006"):
            await store.add(addition("u"), Deadline(30))
        assert await contents(store, "u") == ["I ran today"]
