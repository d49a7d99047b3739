"""A real Postgres for the tests: one embedded server a test process, databases cloned from a migrated template."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from pgrecall import connections, migrating, readiness
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.embedding.static import StaticEmbedder
from tests.running import fresh, serving

TEMPLATE = "migrated"


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> None:
    """No setting of the developer's own reaches a test."""
    for name in list(os.environ):
        if name.startswith("PGRECALL_") or name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            del os.environ[name]


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A Postgres of this test process; under root in a directory that its account can enter."""
    place = Path(tempfile.mkdtemp(prefix="pgrecall-test-"))
    place.chmod(0o755)
    with EmbeddedPostgres(place / "data") as running:
        yield running
    shutil.rmtree(place)


def url_of(postgres: EmbeddedPostgres, database: str) -> str:
    return postgres.url.replace("/pgrecall?", f"/{database}?")


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres) -> str:
    """A migrated, empty database with the static embedder's identity; cloned, never used."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    url = url_of(postgres, TEMPLATE)
    migrating.upgrade(url, "public")
    with connections.administration(url, "public") as connection:
        readiness.record_identity(connection, StaticEmbedder().identity)
    return TEMPLATE


@pytest.fixture(scope="session")
def new_database(postgres: EmbeddedPostgres, template: str) -> Callable[..., str]:
    """Makes a database and returns its URL: a clone of the template, or with migrated=False an empty one."""

    def make(*, migrated: bool = True) -> str:
        name = fresh("db").replace("-", "_")
        source = f"TEMPLATE {template}" if migrated else ""
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {source}")
        return url_of(postgres, name)

    return make


@pytest.fixture(scope="session")
def database(new_database: Callable[..., str]) -> str:
    """The URL of this test process's database; each test uses a user of its own."""
    return new_database()


@pytest.fixture(scope="session")
def client(database: str) -> Iterator[httpx2.Client]:
    """A client of a server with the default settings: static embedder, no language model."""
    with serving(database) as made:
        yield made


@pytest.fixture
def user() -> str:
    """A user that no other test knows."""
    return fresh("user")
