"""What stops a start, what is only warned of, and that each finding says what to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import psycopg
import pytest

from pgrecall import connections, migrating, readiness
from pgrecall.deadline import Deadline
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.embedding.static import StaticEmbedder
from pgrecall.errors import StartRefused
from pgrecall.memory import DIMENSIONS, Addition, EmbeddingIdentity, Extraction, Message
from pgrecall.readiness import Finding
from pgrecall.store import Store
from tests.running import fresh

IDENTITY = StaticEmbedder().identity
OTHERS = [
    replace(IDENTITY, backend="openai"),
    replace(IDENTITY, model="another"),
    replace(IDENTITY, dimensions=512),
    replace(IDENTITY, endpoint="https://embeddings.example/v1"),
    replace(IDENTITY, preprocessing=IDENTITY.preprocessing + 1),
]


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def findings(url: str, identity: EmbeddingIdentity = IDENTITY, schema: str = "public") -> dict[str, Finding]:
    with connections.administration(url, schema) as connection:
        found = readiness.inspect(connection, identity)
    for finding in found:
        assert finding.detail
        assert bool(finding.remedy) == (finding.level != "ok"), "who finds fault says what to do"
    return {finding.name: finding for finding in found}


def stops(found: dict[str, Finding], name: str, detail: str, remedy: str) -> None:
    """The finding is there, and it stops the start with its remedy."""
    assert found[name].level == "failed"
    assert detail in found[name].detail
    assert remedy in found[name].remedy
    with pytest.raises(StartRefused) as refusal:
        readiness.require(list(found.values()))
    assert name in refusal.value.reason
    assert refusal.value.remedy == found[name].remedy


async def fill(url: str) -> None:
    server = Store(url, schema="public", pool_size=1, prepare=True)
    await server.open()
    said = (Message("user", "I", "I ran today", None),)
    vectors = np.eye(1, DIMENSIONS, dtype=np.float32)
    await server.add(
        Addition("u", "r", "s", bytes(32), said, vectors, (), vectors[:0], Extraction.OFF, None, 1, ""),
        Deadline(30),
    )
    await server.close()


def test_migrated_database_is_ready(database: str) -> None:
    found = findings(database)
    assert {finding.level for finding in found.values()} == {"ok"}
    assert list(found) == [
        "PostgreSQL", "pgvector", "durability", "rights", "migrations", "dimensions", "embeddings",
    ]  # fmt: skip
    readiness.require(list(found.values()))


# The database


def test_absent_extension_stops_the_start(new_database: Callable[..., str]) -> None:
    stops(findings(new_database(migrated=False)), "pgvector", "absent", "pgrecall migrate")


def test_database_that_was_never_migrated_stops_the_start(new_database: Callable[..., str]) -> None:
    url = new_database(migrated=False)
    execute(url, "CREATE EXTENSION vector")
    stops(findings(url), "migrations", "never migrated", "pgrecall migrate")


def test_schema_that_is_not_there_stops_the_start(database: str) -> None:
    stops(findings(database, schema="elsewhere"), "migrations", "never migrated", "pgrecall migrate")


def test_database_of_a_newer_version_stops_the_start(new_database: Callable[..., str]) -> None:
    url = new_database()
    execute(url, "UPDATE pgrecall_version SET version_num = '9999'")
    stops(findings(url), "migrations", "9999", "newer pgrecall")


def test_column_of_another_width_stops_the_start(new_database: Callable[..., str]) -> None:
    url = new_database()
    execute(url, "ALTER TABLE messages ALTER COLUMN embedding TYPE halfvec(512)")
    stops(findings(url), "dimensions", "512", "database")


def test_asynchronous_commit_is_warned_of_but_serves(new_database: Callable[..., str]) -> None:
    url = new_database()
    execute(url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());"
                 " END $$")  # fmt: skip
    warned(findings(url), "synchronous_commit")


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_server_that_does_not_write_through_is_warned_of_but_serves(
    postgres: EmbeddedPostgres, database: str, setting: str
) -> None:
    with turned_off(postgres.url, setting):
        warned(findings(database), setting)


def warned(found: dict[str, Finding], setting: str) -> None:
    assert found["durability"].level == "warning"
    assert f"{setting} off" in found["durability"].detail
    assert setting in found["durability"].remedy
    readiness.require(list(found.values()))


@contextmanager
def turned_off(url: str, setting: str) -> Iterator[None]:
    """As ALTER SYSTEM does for the whole server; Postgres takes a moment to read it."""
    try:
        execute(url, f"ALTER SYSTEM SET {setting} = off", "SELECT pg_reload_conf()")
        until(url, setting, "off")
        yield
    finally:
        execute(url, f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")
        until(url, setting, "on")


def until(url: str, setting: str, value: str) -> None:
    for _ in range(200):
        with psycopg.connect(url) as connection:
            if connection.execute("SELECT current_setting(%s)", [setting]).fetchone() == (value,):
                return
        time.sleep(0.02)
    pytest.fail(f"{setting} did not become {value}")


# What the vectors mean


@pytest.mark.parametrize("other", OTHERS, ids=["backend", "model", "dimensions", "endpoint", "preprocessing"])
def test_another_identity_stops_the_start(database: str, other: EmbeddingIdentity) -> None:
    stops(findings(database, other), "embeddings", IDENTITY.model, "empty database")


async def test_filled_store_without_identity_stops_the_start(new_database: Callable[..., str]) -> None:
    url = new_database()
    execute(url, "DELETE FROM embedding_identity")
    assert findings(url)["embeddings"].level == "ok", "while it is empty, the first start may record one"
    await fill(url)
    stops(findings(url), "embeddings", "filled", "empty database")


@pytest.fixture
def guarded(new_database: Callable[..., str]) -> tuple[str, str]:
    """A database whose messages row-level security hides from a role: (URL, the role's URL)."""
    url, role = new_database(), fresh("reader").replace("-", "_")
    execute(
        url,
        f"CREATE ROLE {role} LOGIN",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
        "ALTER TABLE messages ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY own ON messages USING (user_id = current_setting('pgrecall.user_id', true))",
    )
    return url, url.replace("pgrecall@", f"{role}@")


async def test_store_whose_messages_are_hidden_is_known_to_be_filled(guarded: tuple[str, str]) -> None:
    url, reader = guarded
    execute(url, "DELETE FROM embedding_identity")
    assert findings(reader)["embeddings"].level == "ok", "while it is empty, the first start may record one"
    await fill(url)
    with psycopg.connect(reader) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    stops(findings(reader), "embeddings", "filled", "empty database")


async def test_another_identity_stops_the_start_where_messages_are_hidden(guarded: tuple[str, str]) -> None:
    url, reader = guarded
    await fill(url)
    stops(findings(reader, OTHERS[0]), "embeddings", IDENTITY.model, "empty database")
    assert findings(reader)["embeddings"].level == "ok"


def test_hidden_identity_stops_the_start(guarded: tuple[str, str]) -> None:
    url, reader = guarded
    execute(url, "ALTER TABLE embedding_identity ENABLE ROW LEVEL SECURITY")
    found = findings(reader)
    stops(found, "embeddings", "row-level security", "DISABLE ROW LEVEL SECURITY")
    execute(url, found["embeddings"].remedy.removeprefix("Run: ").partition(";")[0])
    assert findings(reader)["embeddings"].level == "ok"


def test_recorded_identity_stays_the_first(new_database: Callable[..., str]) -> None:
    url = new_database()
    with connections.administration(url, "public") as connection:
        readiness.record_identity(connection, IDENTITY)
        with pytest.raises(StartRefused, match="embeddings"):
            readiness.record_identity(connection, OTHERS[1])
    assert findings(url)["embeddings"].level == "ok"


def test_servers_that_start_at_once_record_one_identity(new_database: Callable[..., str]) -> None:
    url = new_database(migrated=False)
    migrating.upgrade(url, "public")
    together = threading.Barrier(6)

    def start(identity: EmbeddingIdentity) -> EmbeddingIdentity | None:
        with connections.administration(url, "public") as connection:
            readiness.require(readiness.inspect(connection, identity))
            together.wait()
            try:
                readiness.record_identity(connection, identity)
            except StartRefused:
                return None
            return identity

    with ThreadPoolExecutor(6) as threads:
        started = list(threads.map(start, [IDENTITY, OTHERS[1]] * 3))
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT model FROM embedding_identity").fetchall()
    assert len(rows) == 1
    assert [one.model for one in started if one is not None] == [rows[0][0]] * 3
