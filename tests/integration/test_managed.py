"""A Postgres that somebody else administers: schemas, rights, URLs, and a database that is still starting."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx2
import psycopg
import pytest
from psycopg import sql

from pgrecall import connections, migrating, readiness
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.embedding.static import StaticEmbedder
from pgrecall.errors import StartRefused
from pgrecall.store import Store
from tests.integration.proxy import Proxy
from tests.running import add_body, free_port, fresh, serving

ODD = 'Agent "Memories" %s'
STARTING = b"SFATAL\0C57P03\0Mthe database system is starting up\0\0"


def execute(url: str, *statements: sql.Composed | str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode() if isinstance(statement, str) else statement)


@pytest.fixture
def role(postgres: EmbeddedPostgres) -> str:
    """A role without any right of its own."""
    name = fresh("Plain role")
    execute(postgres.url, sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    return name


def as_role(url: str, role: str) -> str:
    return url.replace("pgrecall@", f"{quote(role)}@")


def works(url: str, schema: str) -> None:
    """A server on this schema stores and finds."""
    with connections.administration(url, schema) as connection:
        readiness.require(readiness.inspect(connection, StaticEmbedder().identity))
        readiness.record_identity(connection, StaticEmbedder().identity)
    with serving(url, database_schema=schema) as client:
        said(client)


def said(client: httpx2.Client) -> None:
    user = fresh("user")
    client.post("/add", json=add_body(user, "I moved to Lisbon")).raise_for_status()
    found = client.post("/search", json={"user_id": user, "query": "Where do I live?", "top_k": 5}).json()["data"]
    assert [memory["content"] for memory in found] == ["[2023-05-20 14:00] I: I moved to Lisbon"]


# Schemas


@pytest.mark.parametrize("schema", ["public", ODD])
def test_extension_may_live_in_a_schema_of_its_own(new_database: Callable[..., str], schema: str) -> None:
    url = new_database(migrated=False)
    execute(url, 'CREATE SCHEMA "The Vectors"', 'CREATE EXTENSION vector SCHEMA "The Vectors"')
    assert migrating.upgrade(url, schema) == migrating.head()
    works(url, schema)


def test_tables_live_in_any_schema_beside_those_of_others(new_database: Callable[..., str]) -> None:
    url = new_database()
    assert migrating.upgrade(url, ODD) == migrating.head()
    works(url, ODD)
    works(url, "public")
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT schemaname, count(*) FROM pg_tables WHERE tablename IN ('messages', 'pgrecall_version')"
            " GROUP BY schemaname ORDER BY 1"
        ).fetchall()
    assert rows == [(ODD, 2), ("public", 2)]


# Rights: what a refusal says to ask the administrator for is enough.


def test_role_that_owns_the_database_needs_only_the_extension(
    new_database: Callable[..., str], postgres: EmbeddedPostgres, role: str
) -> None:
    url = new_database(migrated=False)
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    grant = sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(str(name)), sql.Identifier(role))
    execute(postgres.url, grant)
    refusal = refused(lambda: migrating.upgrade(as_role(url, role), "memories"))
    assert "extension vector" in refusal.reason
    assert "CREATE EXTENSION vector;" in refusal.remedy
    execute(url, asked_for(refusal))
    migrating.upgrade(as_role(url, role), "memories")
    works(as_role(url, role), "memories")


@pytest.mark.parametrize("schema", ["public", ODD])
def test_role_without_rights_starts_once_the_administrator_did_what_it_was_told(
    new_database: Callable[..., str], role: str, schema: str
) -> None:
    url = new_database(migrated=False)
    execute(url, "CREATE SCHEMA vectors", "CREATE EXTENSION vector SCHEMA vectors")
    asked = 0
    while (refusal := refusal_of(lambda: migrating.upgrade(as_role(url, role), schema))) is not None:
        assert "GRANT" in refusal.remedy or "CREATE SCHEMA" in refusal.remedy
        execute(url, asked_for(refusal))
        asked += 1
    assert asked == 2, "for the schema of the tables, and for that of the extension"
    works(as_role(url, role), schema)


def refusal_of(start: Callable[[], object]) -> StartRefused | None:
    try:
        start()
    except StartRefused as refusal:
        return refusal
    return None


def refused(start: Callable[[], object]) -> StartRefused:
    refusal = refusal_of(start)
    assert refusal is not None, "it started"
    return refusal


def asked_for(refusal: StartRefused) -> str:
    """The statement that the administrator is asked to run."""
    return refusal.remedy.partition(": ")[2]


async def test_server_on_a_database_without_the_extension_says_migrate(new_database: Callable[..., str]) -> None:
    server = Store(new_database(migrated=False), schema="public", pool_size=1, prepare=True)
    with pytest.raises(StartRefused, match="pgrecall migrate"):
        await server.open()


# URLs


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg"])
def test_every_scheme_in_use_is_understood(database: str, scheme: str) -> None:
    with Proxy(database) as proxy:
        works(proxy.url(scheme), "public")


@pytest.fixture
def guarded_role(postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    """A role that Postgres lets in with its password only: (name, password)."""
    name, password = fresh("guarded"), "p@ss:w/rd%41 #?&"
    execute(
        postgres.url,
        sql.SQL("CREATE ROLE {} LOGIN SUPERUSER PASSWORD {}").format(sql.Identifier(name), password),
    )
    rules = postgres.data_dir / "postgres" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all {name} scram-sha-256\n{before}")
    execute(postgres.url, "SELECT pg_reload_conf()")
    yield name, password
    rules.write_text(before)
    execute(postgres.url, "SELECT pg_reload_conf()")


def test_password_is_percent_decoded(database: str, guarded_role: tuple[str, str]) -> None:
    name, password = guarded_role
    with Proxy(database) as proxy:
        works(proxy.url(who=f"{name}:{quote(password, safe='')}"), "public")


def test_wrong_password_is_refused_at_once_and_never_shown(database: str, guarded_role: tuple[str, str]) -> None:
    with Proxy(database) as proxy:
        url = proxy.url(who=f"{guarded_role[0]}:not-the-password")
        started = time.monotonic()
        refusal = refused(lambda: connections.wait_for(url, 30))
    assert time.monotonic() - started < 5
    assert "password authentication failed" in refusal.reason
    assert "not-the-password" not in str(refusal)


def test_parameters_of_tls_pass_through(database: str) -> None:
    """The server at hand has no TLS: whoever asks for it gets no connection."""
    with Proxy(database) as proxy:
        refusal = refused(lambda: connections.wait_for(proxy.url(parameters="sslmode=require"), 0))
    assert "SSL" in refusal.reason
    assert "PGRECALL_DATABASE_URL" in refusal.remedy


# A database that is not there yet


def test_start_waits_for_a_database_that_comes_up(database: str) -> None:
    proxy = Proxy(database)
    later = threading.Timer(0.7, proxy.start)
    later.start()
    started = time.monotonic()
    connections.wait_for(proxy.url(), 10).close()
    assert time.monotonic() - started > 0.5
    later.join()
    proxy.stop()


def test_start_gives_up_after_its_time() -> None:
    started = time.monotonic()
    refusal = refused(lambda: connections.wait_for(f"postgresql://u@127.0.0.1:{free_port()}/d", 0.6))
    assert 0.5 < time.monotonic() - started < 3
    assert "cannot be reached" in refusal.reason
    assert "PGRECALL_DATABASE_WAIT" in refusal.remedy


@pytest.mark.parametrize("wait", [0.5, 3])
def test_start_gives_up_after_its_time_on_a_host_that_is_silent(wait: float) -> None:
    """It takes the connection and never answers: an attempt lasts until its own time is up."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        refusal = refused(
            lambda: connections.wait_for(f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d", wait)
        )
    assert wait <= time.monotonic() - started < wait + 2.5
    assert "PGRECALL_DATABASE_WAIT" in refusal.remedy


def test_database_that_says_it_is_starting_up_is_waited_for(database: str) -> None:
    """As one that recovers does: it takes the connection, and answers that it is not ready."""
    proxy = Proxy(database)
    with socket.create_server(("127.0.0.1", proxy.port)) as recovering:

        def recover() -> None:
            for _ in range(2):
                with recovering.accept()[0] as client:
                    client.recv(1000)
                    client.sendall(b"E" + (len(STARTING) + 4).to_bytes(4, "big") + STARTING)
                    client.recv(1)  # until it hangs up
            recovering.close()
            proxy.start()

        recovery = threading.Thread(target=recover)
        recovery.start()
        connections.wait_for(proxy.url(), 10).close()
        recovery.join()
    proxy.stop()


def test_two_migrators_at_once_both_succeed(new_database: Callable[..., str]) -> None:
    url = new_database(migrated=False)
    together = threading.Barrier(4)

    def migrate() -> str:
        together.wait()
        return migrating.upgrade(url, ODD)

    with ThreadPoolExecutor(4) as threads:
        revisions = [one.result() for one in [threads.submit(migrate) for _ in range(4)]]
    assert set(revisions) == {migrating.head()}
    works(url, ODD)
