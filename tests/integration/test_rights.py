"""A serving role that is not the one that migrated: what it may do, and what it is told to ask for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from pgrecall import connections, migrating, readiness, rights
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.embedding.static import StaticEmbedder
from pgrecall.models import VERSION_TABLE, Base
from pgrecall.queries import shipped
from pgrecall.readiness import Finding
from tests.integration.commands import pgrecall
from tests.running import add_body, fresh, serving

IDENTITY = StaticEmbedder().identity
ODD = 'Agent "Memories" %s'


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.fixture
def role(postgres: EmbeddedPostgres) -> str:
    """A role without any right of its own, whose name must be quoted."""
    name = fresh("Serving role")
    execute(postgres.url, f'CREATE ROLE "{name}" LOGIN')
    return name


def as_role(url: str, role: str) -> str:
    return url.replace("pgrecall@", f"{quote(role)}@")


def finding(url: str, schema: str = "public") -> Finding:
    with connections.administration(url, schema) as connection:
        found = {one.name: one for one in readiness.inspect(connection, IDENTITY)}
    return found["rights"]


def granted(url: str, found: Finding) -> None:
    """Do, as the administrator, what the finding asks for."""
    execute(url, found.remedy.partition(": ")[2])


def works(url: str, schema: str) -> None:
    with connections.administration(url, schema) as connection:
        readiness.require(readiness.inspect(connection, IDENTITY))
        readiness.record_identity(connection, IDENTITY)
    with serving(url, database_schema=schema) as client:
        user = fresh("user")
        assert client.post("/add", json=add_body(user, "I moved to Lisbon")).status_code == 200
        found = client.post("/search", json={"user_id": user, "query": "Lisbon"})
        assert [memory["content"] for memory in found.json()["data"]] == ["[2023-05-20 14:00] I: I moved to Lisbon"]
        assert client.get("/health").json()["stored"]["memories"] == 1


@pytest.mark.parametrize("schema", ["public", ODD])
def test_role_without_rights_serves_once_the_administrator_granted_what_the_finding_names(
    new_database: Callable[..., str], role: str, schema: str
) -> None:
    url = new_database(migrated=False)
    execute(url, "CREATE SCHEMA vectors", "CREATE EXTENSION vector SCHEMA vectors")
    migrating.upgrade(url, schema)
    found = finding(as_role(url, role), schema)
    assert found.level == "failed"
    for name in ("USAGE on schema", *Base.metadata.tables, VERSION_TABLE, *rights.VIEWS):
        assert name in found.detail
    granted(url, found)
    assert finding(as_role(url, role), schema).level == "ok"
    works(as_role(url, role), schema)
    with psycopg.connect(as_role(url, role)) as connection:
        log = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, "log"))
        connection.execute("SET search_path = vectors")
        assert connection.execute(log).fetchone() == (1,)


@pytest.mark.parametrize("table", sorted(Base.metadata.tables))
@pytest.mark.parametrize("right", rights.WRITTEN)
def test_one_missing_right_on_one_table_stops_the_start(
    new_database: Callable[..., str], role: str, table: str, right: str
) -> None:
    url = new_database()
    granted(url, finding(as_role(url, role)))
    execute(url, f'REVOKE {right} ON {table} FROM "{role}"')
    found = finding(as_role(url, role))
    assert found.level == "failed"
    assert found.detail == f'"{role}" lacks {right} on {table}'
    assert found.remedy.endswith(f': GRANT {right} ON "public"."{table}" TO "{role}";')


def test_table_that_a_later_migration_brought_is_missed_until_it_is_granted(
    new_database: Callable[..., str], role: str
) -> None:
    url = new_database()
    granted(url, finding(as_role(url, role)))
    execute(url, f'REVOKE ALL ON facts FROM "{role}"')
    assert finding(as_role(url, role)).detail == f'"{role}" lacks SELECT, INSERT, UPDATE, DELETE on facts'


def test_role_that_may_not_read_the_version_is_told_so(new_database: Callable[..., str], role: str) -> None:
    url = new_database()
    granted(url, finding(as_role(url, role)))
    execute(url, f'REVOKE ALL ON {VERSION_TABLE} FROM "{role}"')
    found = finding(as_role(url, role))
    assert (found.level, found.detail) == ("failed", f'"{role}" lacks SELECT on {VERSION_TABLE}')


def test_role_that_may_not_read_the_views_serves_and_is_warned(new_database: Callable[..., str], role: str) -> None:
    url = new_database()
    granted(url, finding(as_role(url, role)))
    execute(url, f'REVOKE ALL ON {", ".join(rights.VIEWS)} FROM "{role}"')
    found = finding(as_role(url, role))
    assert found.level == "warning"
    assert f"SELECT on {', '.join(rights.VIEWS)}" in found.detail
    works(as_role(url, role), "public")
    granted(url, found)
    assert finding(as_role(url, role)).level == "ok"


def test_rights_are_asked_for_on_every_table_that_a_statement_deletes_from() -> None:
    statements = " ".join(path.read_text(encoding="utf-8") for path in shipped("sql").glob("*.sql"))
    assert set(re.findall(r"DELETE FROM (\w+)", statements)) == set(rights.EMPTIED)


def test_rights_are_asked_for_on_every_view_there_is(database: str) -> None:
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT viewname FROM pg_views WHERE schemaname = 'public'").fetchall()
    assert {name for (name,) in rows} == set(rights.VIEWS)


def test_serve_and_check_name_the_grant_and_show_no_traceback(
    new_database: Callable[..., str], role: str, tmp_path: Path
) -> None:
    url = new_database()
    settings = {"PGRECALL_DATABASE_URL": as_role(url, role)}
    served = pgrecall(tmp_path, "serve", "--port", "0", **settings)
    assert served.returncode == 1
    reason, remedy = served.stderr.splitlines()
    assert reason.startswith(f'✗ rights: "{role}" lacks SELECT, INSERT, UPDATE')
    checked = pgrecall(tmp_path, "check", **settings)
    assert checked.returncode == 1
    assert "✗ rights" in checked.stdout
    execute(url, remedy.partition(": ")[2])
    assert pgrecall(tmp_path, "check", **settings).returncode == 0
