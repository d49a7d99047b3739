"""Each setting reaches what it is about: its effect shows in an answer, at the provider, or in the database."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql

from ops.bench.provider import StandIn
from tests.api.calling import added, contents, post, rows
from tests.integration.commands import Serving, pgrecall
from tests.integration.proxy import Proxy
from tests.running import add_body, fresh, serving

ROOT = Path(__file__).resolve().parents[2]
SLOW = 0.2
"""Seconds of a provider's reply while calls are counted that are under way at once."""


@pytest.fixture(scope="module")
def standing_in() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.fixture
def provider(standing_in: StandIn) -> StandIn:
    """Healthy, and its counts at nought."""
    standing_in.behave()
    return standing_in


def at_once(calls: int, call: Callable[[int], httpx2.Response]) -> None:
    """So many calls side by side, each answered 200."""
    with ThreadPoolExecutor(calls) as pool:
        assert [answer.status_code for answer in pool.map(call, range(calls))] == [200] * calls


# The database


@pytest.fixture
def migrator(new_database: Callable[..., str]) -> tuple[str, str, str]:
    """The URL of an empty database, the same for another role, and that role: the owner of what it makes."""
    url, role = new_database(migrated=False), fresh("migrator").replace("-", "_")
    name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(name), sql.Identifier(role))
        )
    return url, url.replace("pgrecall@", f"{role}@"), role


def by_serve(cwd: Path, **environment: str) -> None:
    with Serving(cwd, PGRECALL_MIGRATE_ON_START="true", **environment) as server:
        assert server.stop() == 0


def by_migrate(cwd: Path, **environment: str) -> None:
    done = pgrecall(cwd, "migrate", **environment)
    assert done.returncode == 0, done.stderr


def by_alembic(cwd: Path, **environment: str) -> None:
    command = [sys.executable, "-m", "alembic", "-c", str(ROOT / "alembic.ini"), "upgrade", "head"]
    subprocess.run(command, cwd=cwd, env=os.environ | environment, check=True, capture_output=True)


@pytest.mark.parametrize("migrate", [by_serve, by_migrate, by_alembic])
def test_migrations_go_to_the_migration_url(
    migrator: tuple[str, str, str], tmp_path: Path, migrate: Callable[..., None]
) -> None:
    url, migration_url, role = migrator
    migrate(tmp_path, PGRECALL_DATABASE_URL=url, PGRECALL_MIGRATION_URL=migration_url)
    assert rows(url, "SELECT tableowner FROM pg_tables WHERE tablename = 'messages'") == [(role,)]


@pytest.mark.parametrize(("prepare", "parses_each"), [("auto", False), ("off", True)])
def test_database_prepare_decides_whether_statements_are_parsed_again(
    database: str, user: str, prepare: str, parses_each: bool
) -> None:
    searches = 5
    with Proxy(database) as proxy, serving(proxy.url(), database_prepare=prepare, pool_size=1) as client:
        added(client, user, "I sail")
        for _ in range(8):  # psycopg prepares a statement at its sixth run
            contents(client, user, "sailing")
        proxy.sent.clear()
        for _ in range(searches):
            contents(client, user, "sailing")
        assert (proxy.sent.count("P") >= searches) == parses_each


@pytest.mark.parametrize("pool_size", [1, 3])
def test_no_more_connections_than_pool_size(database: str, user: str, pool_size: int) -> None:
    name = fresh("pool")
    with serving(f"{database}&application_name={name}", pool_size=pool_size) as client:
        added(client, user, "I sail")
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda _: contents(client, user, "sailing"), range(160)))
        (held,) = rows(database, "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [name])
    assert held == (pool_size,)


# What a search returns


def whole_log(database: str, user: str, **settings: Any) -> int:
    """How many memories of five, each of 43 characters as a reader sees it, a search returns."""
    with serving(database, **settings) as client:
        added(client, user, *(f"I sailed on lake no {number}" for number in range(5)))
        return len(contents(client, user, "sailed on a lake"))


@pytest.mark.parametrize(
    ("settings", "returned"),
    [({}, 5), ({"return_limit": 3}, 3), ({"return_char_budget": 100}, 2), ({"return_token_budget": 1}, 1)],
)
def test_a_search_keeps_to_limit_and_budgets(
    database: str, user: str, settings: dict[str, Any], returned: int
) -> None:
    assert whole_log(database, user, **settings) == returned


# The language model


@pytest.fixture(scope="module")
def modelled(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    """A client of a server whose every setting of the language model is another than the default."""
    with serving(
        database, llm_mode="required", llm_base_url=standing_in.base_url, llm_model="another", llm_fact_tokens=77,
        llm_recall_tokens=33, llm_json_mode=False, llm_concurrency=2, llm_retries=0, llm_timeout=30,
        second_round=True, add_deadline=2,
    ) as made:  # fmt: skip
        yield made


def test_the_settings_of_the_language_model_reach_it(modelled: httpx2.Client, provider: StandIn, user: str) -> None:
    added(modelled, user, "I sail")
    contents(modelled, user, "sailing")
    assert [body["max_tokens"] for body in provider.bodies["chat"]] == [77, 33, 33]
    assert {body["model"] for body in provider.bodies["chat"]} == {"another"}
    assert not any("response_format" in body for body in provider.bodies["chat"])


def test_by_default_the_language_model_is_asked_for_json(database: str, provider: StandIn, user: str) -> None:
    with serving(database, llm_mode="required", llm_base_url=provider.base_url) as client:
        added(client, user, "I sail")
        contents(client, user, "sailing")
    assert [body["max_tokens"] for body in provider.bodies["chat"]] == [1200, 200]
    assert [body["response_format"] for body in provider.bodies["chat"]] == [{"type": "json_object"}] * 2


def test_no_more_calls_of_the_language_model_at_once_than_set(
    modelled: httpx2.Client, provider: StandIn, user: str
) -> None:
    provider.misbehave("chat", "slow", seconds=SLOW)
    at_once(6, lambda number: post(modelled, "/add", add_body(user, f"I sail {number}")))
    assert provider.most_at_once["chat"] == 2


def test_the_time_of_an_add_runs_from_before_its_body_is_read(
    modelled: httpx2.Client, provider: StandIn, user: str
) -> None:
    provider.misbehave("chat", "hang")
    begun = time.monotonic()

    def body() -> Iterator[bytes]:
        yield b" "
        time.sleep(1.3)
        yield httpx2.Request("POST", "http://any", json=add_body(user, "I sail")).content

    answer = modelled.post("/add", content=body())
    assert time.monotonic() - begun < 2.5  # from after it was read, it would be 1.3 s and most of another 2 s
    assert (answer.status_code, answer.json()["error"]) == (503, "deadline_exceeded")


# Embeddings


@pytest.fixture(scope="module")
def embedded(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    """A client of a server whose every setting of the embedder is another than the default."""
    with serving(
        database, embed_backend="openai", embed_base_url=standing_in.base_url, embed_model="another",
        embed_dimensions=256, embed_concurrency=2, embed_batch=3, llm_mode="required",
        llm_base_url=standing_in.base_url,
    ) as made:  # fmt: skip
        yield made


def test_the_settings_of_the_embedder_reach_the_provider(
    embedded: httpx2.Client, provider: StandIn, user: str
) -> None:
    provider.misbehave("embeddings", "slow", seconds=SLOW)
    added(embedded, user, *(f"I sail {number}" for number in range(15)))
    bodies = provider.bodies["embeddings"]
    assert {body["dimensions"] for body in bodies} == {256}
    assert {body["model"] for body in bodies} == {"another"}
    assert max(len(body["input"]) for body in bodies) == 3
    assert provider.most_at_once["embeddings"] == 2


def test_a_provider_that_refuses_the_parameter_is_not_sent_dimensions(
    database: str, provider: StandIn, user: str
) -> None:
    with serving(
        database, embed_backend="openai", embed_base_url=provider.base_url, embed_send_dimensions=False
    ) as client:
        added(client, user, "I sail")
    assert [body["input"] for body in provider.bodies["embeddings"]] == [["[2023-05-20 14:00] I: I sail"]]
    assert not any("dimensions" in body for body in provider.bodies["embeddings"])


@pytest.mark.parametrize("path", ["/add", "/search"])
def test_texts_are_embedded_beside_the_work_of_the_language_model(
    embedded: httpx2.Client, provider: StandIn, user: str, path: str
) -> None:
    for endpoint in ("embeddings", "chat"):
        provider.misbehave(endpoint, "slow", seconds=2, times=1)
    with ThreadPoolExecutor(1) as pool:
        begun = time.monotonic()
        answer: Future[httpx2.Response] = pool.submit(
            post, embedded, path, add_body(user, "I sail") | {"query": "sailing"}
        )
        while provider.calls.total() < 2 and time.monotonic() - begun < 1.8:
            time.sleep(0.01)
        under_way = dict(provider.calls)
        assert answer.result().status_code == 200
    assert under_way == {"embeddings": 1, "chat": 1}  # neither had been answered
