"""Migrations: up, down and up again with rows in the tables, and what the schema must always hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from pgrecall import connections, migrating
from pgrecall.analysing import Analysing
from pgrecall.deadline import Deadline
from pgrecall.errors import StartRefused
from pgrecall.lexical.analysis import VERSION
from pgrecall.memory import DIMENSIONS, Addition, Extraction, Fact, Message
from pgrecall.models import VERSION_TABLE
from pgrecall.queries import shipped
from pgrecall.store import Store

CHECKOUT = Path(__file__).parents[2]
OBJECTS = """
SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'public'::regnamespace AND deptype = 'n'
UNION SELECT pg_describe_object('pg_namespace'::regclass, oid, 0) FROM pg_namespace
ORDER BY 1
"""
"""Everything that stands in the schema, and every schema."""


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


async def fill(url: str, schema: str = "public") -> None:
    """Two sessions of one user, the second said before the first, and a fact."""
    server = Store(url, schema=schema, pool_size=1, prepare=True)
    await server.open()
    vectors = np.eye(2, DIMENSIONS, dtype=np.float32)
    for session, day, fact in (("late", 21, True), ("early", 20, False)):
        said = tuple(
            Message("user", speaker, text, datetime(2023, 5, day, 9, minute, tzinfo=UTC))
            for minute, speaker, text in ((1, "Ann", f"{session} two"), (0, "I", f"{session} one"))
        )
        facts = (Fact("I said two things.", (0, 1)),) if fact else ()
        await server.add(
            Addition(
                "u", session, session, bytes(32), said, vectors, facts, vectors[: len(facts)],
                Extraction.DONE, None, 1, "stand-in",
            ),
            Deadline(30),
        )  # fmt: skip
    await server.close()


# Up and down


async def test_up_down_and_up_again_leaves_nothing_behind(new_database: Callable[..., str]) -> None:
    url = new_database(migrated=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    before = rows(url, OBJECTS)
    assert migrating.upgrade(url, "public") == migrating.head()
    migrated = rows(url, OBJECTS)
    await fill(url)
    assert migrating.downgrade(url, "public", "base") == "base"
    assert [row for row in rows(url, OBJECTS) if "pgrecall_version" not in str(row)] == before
    assert migrating.upgrade(url, "public") == migrating.head()
    assert rows(url, OBJECTS) == migrated
    assert rows(url, "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM users)") == [(0, 0)]
    await fill(url)
    assert rows(url, "SELECT count(*) FROM messages") == [(4,)]


async def test_every_step_goes_down_and_up_with_rows_in_the_tables(new_database: Callable[..., str]) -> None:
    url = new_database()
    await fill(url)
    scripts = list(ScriptDirectory.from_config(migrating.config()).walk_revisions())
    for script in scripts:
        below = script.down_revision or "base"
        assert isinstance(below, str)
        assert migrating.downgrade(url, "public", below) == below
        assert migrating.upgrade(url, "public", script.revision) == script.revision
        assert migrating.downgrade(url, "public", below) == below


async def test_what_was_stored_before_there_were_terms_is_found_by_its_words_once_analysed(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    await fill(url)
    had = rows(url, "SELECT * FROM terms ORDER BY user_id, term, n")
    assert migrating.downgrade(url, "public", "0001") == "0001"
    assert migrating.upgrade(url, "public") == migrating.head()
    assert rows(url, "SELECT count(*) FROM terms") == [(0,)]
    server = Store(url, schema="public", pool_size=2, prepare=True)
    await server.open()
    assert await Analysing(server).once() == 5
    await server.close()
    assert rows(url, "SELECT * FROM terms ORDER BY user_id, term, n") == had
    assert rows(url, "SELECT analysed_n = next_n, terms_version FROM users") == [(True, VERSION)]


def test_migrating_again_changes_nothing(new_database: Callable[..., str]) -> None:
    url = new_database()
    before = rows(url, OBJECTS)
    assert migrating.upgrade(url, "public") == migrating.head()
    assert rows(url, OBJECTS) == before


@pytest.mark.parametrize("schema", ["public", 'Odd "one"'])
def test_models_and_migrations_describe_the_same_schema(new_database: Callable[..., str], schema: str) -> None:
    url = new_database(migrated=False)
    migrating.upgrade(url, schema)
    with migrating.migrator(url, schema) as connection:
        command.check(migrating.config(connection))


def test_migration_that_waits_for_a_lock_gives_up(new_database: Callable[..., str]) -> None:
    url = new_database()
    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE messages IN ACCESS SHARE MODE")
        with pytest.raises(StartRefused, match="lock timeout") as refusal:
            migrating.downgrade(url, "public", "base")
        assert "pgrecall migrate" in refusal.value.remedy
    with connections.administration(url, "public") as connection:
        assert migrating.current(connection) == "0007", "the step that waited for messages"
    assert migrating.downgrade(url, "public", "base") == "base", "the migrators' lock was given back"


@pytest.mark.parametrize("move", [migrating.upgrade, lambda url, schema: migrating.downgrade(url, schema, "base")])
def test_database_of_a_newer_version_is_left_alone(
    new_database: Callable[..., str], move: Callable[[str, str], str]
) -> None:
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'".encode())
    with pytest.raises(StartRefused, match="9999") as refusal:
        move(url, "public")
    assert "newer pgrecall" in refusal.value.remedy
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [("9999",)]


def test_start_on_a_migrated_database_does_not_load_alembic(new_database: Callable[..., str]) -> None:
    code = """
import sys
from pgrecall import cli, migrating
migrating.upgrade(sys.argv[1], "public")
assert "alembic" not in sys.modules
"""
    process = subprocess.run(
        [sys.executable, "-c", code, new_database()], capture_output=True, text=True, timeout=60
    )
    assert process.returncode == 0, process.stderr


def test_migrator_whose_connection_died_tells_what_cut_it_off(new_database: Callable[..., str]) -> None:
    url = new_database()
    with pytest.raises(StartRefused, match="terminating connection due to administrator command"):
        migrate_cut_off(url, lambda connection: connection.execute(text("SELECT 1")))
    assert migrating.upgrade(url, "public") == migrating.head(), "the lock went with the connection"


def test_error_in_a_migration_is_seen_also_where_the_connection_died(new_database: Callable[..., str]) -> None:
    with pytest.raises(ZeroDivisionError):
        migrate_cut_off(new_database(), lambda connection: 1 / 0)


def migrate_cut_off(url: str, step: Callable[[Connection], object]) -> None:
    """A step of a migrator whose connection the server has ended."""
    with migrating.migrator(url, "public") as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        rows(url, f"SELECT pg_terminate_backend({process}, 5000)")
        step(connection)


# The files


def test_files_are_numbered_without_gap_and_have_one_head() -> None:
    scripts = ScriptDirectory.from_config(migrating.config())
    revisions = migrating.revisions()
    assert {script.revision for script in scripts.walk_revisions()} == set(revisions)
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]
    assert scripts.get_heads() == [revisions[-1]] == [migrating.head()]
    files = sorted(path.name for path in (shipped("migrations") / "versions").glob("*.py"))
    assert [name.split("_")[0] for name in files] == revisions


def test_every_migration_bounds_its_waits_in_both_directions() -> None:
    for path in (shipped("migrations") / "versions").glob("*.py"):
        _, up, down = path.read_text(encoding="utf-8").replace("def downgrade", "def upgrade").split("def upgrade")
        for direction in (up, down):
            if "autocommit_block" in direction:  # built online: it blocks nobody, however long it takes
                assert "postgresql_concurrently=True" in direction, path.name
                continue
            assert "SET LOCAL lock_timeout" in direction, path.name
            assert "SET LOCAL statement_timeout" in direction, path.name


def test_bare_alembic_works_from_a_checkout(new_database: Callable[..., str]) -> None:
    url = new_database(migrated=False)

    def alembic(*arguments: str) -> str:
        environment = {**os.environ, "PGRECALL_DATABASE_URL": url, "PGRECALL_DATABASE_SCHEMA": "memories"}
        process = subprocess.run(
            [sys.executable, "-m", "alembic", *arguments],
            cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        return process.stdout

    alembic("upgrade", "head")
    assert f"{migrating.head()} (head)" in alembic("current")
    assert rows(url, "SELECT count(*) FROM memories.messages") == [(0,)]


# The schema


def test_every_table_view_and_column_has_a_comment(database: str) -> None:
    silent = """
        SELECT c.relname, a.attname FROM pg_class AS c
        LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND c.relkind = 'r'
                                   AND NOT a.attisdropped
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
          AND c.relname <> 'pgrecall_version'
          AND (obj_description(c.oid, 'pg_class') IS NULL
               OR a.attnum IS NOT NULL AND col_description(c.oid, a.attnum) IS NULL)
    """
    assert rows(database, silent) == []


def test_every_key_and_index_begins_with_the_user(database: str) -> None:
    first_columns = """
        SELECT i.indexrelid::regclass::text, a.attname
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
        JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1
    """
    found = {str(index): column for index, column in rows(database, first_columns)}
    others = {name for name, column in found.items() if column != "user_id"}
    # Of the vectors' index the code of the user is a part; a key that led with the user would tempt the planner.
    assert others == {
        "embedding_identity_pkey",
        "large_vectors_coded_idx",
        "large_vectors_pkey",
        "pgrecall_version_pkc",
    }
    assert len(found) > len(others) + 4


def test_vectors_stay_in_their_row(database: str) -> None:
    """Out of line the exact scan took 23 to 53 ms instead of 3 to 5."""
    storage = "SELECT attrelid::regclass::text, attstorage::text FROM pg_attribute WHERE attname = 'embedding'"
    tables = ["facts", "forgotten_facts", "forgotten_messages", "messages"]
    assert sorted(rows(database, storage)) == [(table, "p") for table in tables]


async def test_views_show_a_log_in_order(new_database: Callable[..., str]) -> None:
    url = new_database()
    await fill(url)
    said = rows(url, "SELECT session_id, speaker, content FROM log WHERE user_id = 'u'")
    assert said == [
        ("early", "I", "early one"),
        ("early", "Ann", "early two"),
        ("late", "I", "late one"),
        ("late", "Ann", "late two"),
    ]
    drawn = rows(url, "SELECT content, rests_on, language_model FROM fact_log WHERE user_id = 'u'")
    assert drawn == [("I said two things.", "Ann: late two\nI: late one", "stand-in")]
