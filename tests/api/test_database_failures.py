"""Postgres goes away, hangs, comes back; and what nobody foresaw."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import LiteralString

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from psycopg import sql

from pgrecall.access import Access
from pgrecall.app import create_app, services
from pgrecall.deadline import Deadline
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.embedding.static import StaticEmbedder
from pgrecall.memory import EmbeddingIdentity, Vectors
from pgrecall.settings import Settings
from pgrecall.tally import Tally
from tests.api.calling import NOTHING, added, contents, post, stored
from tests.running import add_body, serving

MARKER = "quicksilver"


class Switch:
    """A database of its own that can go away, and come back."""

    def __init__(self, postgres: EmbeddedPostgres, url: str) -> None:
        self._administration = postgres.url
        self.url = url
        self._name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])

    def off(self) -> None:
        """Nobody may connect, and who was connected is cut off."""
        self._run("ALTER DATABASE {} ALLOW_CONNECTIONS false")
        self.cut()

    def cut(self) -> None:
        """Every connection is cut off; new ones are welcome."""
        with psycopg.connect(self._administration, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [self._name]
            )

    def on(self) -> None:
        self._run("ALTER DATABASE {} ALLOW_CONNECTIONS true")

    def _run(self, statement: LiteralString) -> None:
        with psycopg.connect(self._administration, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(self._name)))


@pytest.fixture(scope="module")
def switch(postgres: EmbeddedPostgres, new_database: Callable[..., str]) -> Switch:
    return Switch(postgres, new_database())


@pytest.fixture(scope="module")
def lone(switch: Switch) -> Iterator[httpx2.Client]:
    """A client of a server on the database that can go away."""
    with serving(switch.url, add_deadline=3, search_deadline=3) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_said_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert MARKER not in "".join(str(vars(record)) + record.getMessage() for record in caplog.records)


def assert_unavailable(response: httpx2.Response, code: str) -> None:
    assert response.status_code == 503
    assert 0 < int(response.headers["retry-after"]) <= 60
    assert response.json()["error"] == code
    assert MARKER not in response.text


def test_a_database_that_is_away_is_a_503_soon_and_served_again_once_back(
    lone: httpx2.Client, switch: Switch, user: str
) -> None:
    user = MARKER + user
    body = add_body(user, f"My {MARKER} is blue")
    added(lone, user, "before")
    switch.off()
    try:
        for path in ("/add", "/search"):
            begun = time.monotonic()
            assert_unavailable(post(lone, path, body | {"query": MARKER}), "database_unavailable")
            assert time.monotonic() - begun < 3
        health = lone.get("/health")
        assert health.status_code == 200
        assert health.json()["database"] == "unavailable"
    finally:
        switch.on()
    assert stored(switch.url, user)["messages"] == 1
    begun = time.monotonic()
    while post(lone, "/add", body).status_code == 503 and time.monotonic() - begun < 6:
        continue  # a call that waits makes the pool try again
    assert len(contents(lone, user)) == 2
    assert lone.get("/health").json()["database"] == "ok"


def test_connections_that_were_cut_off_cost_no_call(lone: httpx2.Client, switch: Switch, user: str) -> None:
    body = added(lone, user, "I sail")
    for _ in range(3):
        switch.cut()
        assert post(lone, "/add", body).status_code == 200
        switch.cut()
        assert len(contents(lone, user, "sail")) == 1
    switch.cut()
    added(lone, user, "I row")
    assert len(contents(lone, user)) == 2


def test_a_database_that_hangs_does_not_outlast_the_deadline(switch: Switch, user: str) -> None:
    body = add_body(user, f"My {MARKER} is blue")
    with serving(switch.url, add_deadline=1, search_deadline=1) as client:
        with psycopg.connect(switch.url) as connection:
            connection.execute("LOCK TABLE requests, messages IN ACCESS EXCLUSIVE MODE")
            begun = time.monotonic()
            assert_unavailable(post(client, "/add", body), "deadline_exceeded")
            assert_unavailable(post(client, "/search", {"user_id": user, "query": ""}), "deadline_exceeded")
            assert time.monotonic() - begun < 3
        assert stored(switch.url, user) == NOTHING
        assert post(client, "/add", body).status_code == 200
        assert len(contents(client, user)) == 1


class Broken:
    """An embedder with a mistake in it."""

    identity: EmbeddingIdentity = StaticEmbedder().identity

    async def embed(self, pieces: Sequence[str], deadline: Deadline) -> Vectors:
        raise RuntimeError(f"{MARKER}: cannot embed {pieces}")

    async def close(self) -> None:
        return None


@asynccontextmanager
async def with_a_mistake(database: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server whose embedder is broken."""
    settings = Settings()
    app: FastAPI = create_app(settings, database)
    async with app.router.lifespan_context(app):
        app.state.services = services(settings, app.state.services.store, Broken(), None, Tally(), Access(None))
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://server") as client:
            yield client


@pytest.mark.parametrize("path", ["/add", "/search"])
async def test_what_nobody_foresaw_is_a_500_that_says_where_but_nothing_that_was_said(
    database: str, user: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with with_a_mistake(database) as client:
        response = await client.post(path, json=add_body(user, f"My {MARKER}") | {"query": MARKER})
    assert response.status_code == 500
    assert response.json()["error"] == "internal_error"
    assert MARKER not in response.text
    errors = [record.getMessage() for record in caplog.records if record.name == "pgrecall"]
    assert any("RuntimeError" in error and "embed" in error for error in errors)
    assert stored(database, user) == NOTHING
