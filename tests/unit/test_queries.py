"""sql/*.sql: each file says what it takes, and Postgres agrees."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import psycopg
import pytest

from pgrecall import rows
from pgrecall.memory import Caps, Question
from pgrecall.queries import PLACEHOLDER, Query, over, parse, query, shipped

NAMES = sorted(path.stem for path in shipped("sql").glob("*.sql"))
TABLES = ("as_of",)
"""What goes before a statement, and is none by itself."""
STATEMENTS = [query(name) for name in NAMES if name not in TABLES] + [
    over("as_of", "search"),
    over("as_of", "chains"),
]


@pytest.fixture(scope="module")
def connection(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database, autocommit=True) as made:
        yield made


def test_there_are_statements() -> None:
    assert {"add", "look", "search", "preamble"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_file_loads_and_begins_with_what_it_is_for(name: str) -> None:
    source = (shipped("sql") / f"{name}.sql").read_text(encoding="utf-8")
    assert re.match(r"-- \w", source)
    assert not source.startswith("-- parameters")
    loaded = query(name)
    assert b"--" not in loaded.text
    assert set(PLACEHOLDER.findall(loaded.text.decode())) == set(loaded.parameters)
    # A %s would travel as text: an array of 20 vectors took 33.7 ms so, and 0.34 ms as %b.
    assert not re.search(r"%(?!\(\w+\)b)", loaded.text.decode())


def prepared(connection: psycopg.Connection, statement: Query) -> tuple[dict[str, str], list[str]]:
    """What Postgres makes of it: the types of its parameters, and of its columns."""
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f"${numbers.setdefault(found[1], len(numbers) + 1)}"

    text = PLACEHOLDER.sub(numbered, statement.text.decode())
    name = statement.name.replace(" ", "_")
    connection.execute(f"PREPARE {name} AS {text}".encode())
    row = connection.execute(
        "SELECT parameter_types::text[], coalesce(result_types::text[], '{}') FROM pg_prepared_statements"
        " WHERE name = %s",
        [name],
    ).fetchone()
    connection.execute(f"DEALLOCATE {name}".encode())
    assert row is not None
    return dict(zip(numbers, row[0], strict=True)), row[1]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
def test_postgres_infers_the_declared_types(connection: psycopg.Connection, statement: Query) -> None:
    inferred, _ = prepared(connection, statement)
    declared = {
        parameter: connection.execute("SELECT %s::regtype::text", [kind]).fetchall()[0][0]
        for parameter, kind in statement.parameters.items()
    }
    assert inferred == declared


def test_search_returns_the_columns_that_are_read(connection: psycopg.Connection) -> None:
    statement = query("search")
    _, types = prepared(connection, statement)
    said = ["integer", "uuid", "text", "text", "timestamp with time zone", "smallint"]
    assert types == [*said, "double precision", "jsonb", "bigint"]
    parameters = {"user_id": "nobody", **rows.search_parameters("nobody", Question(), 1, Caps())}
    names = [column.name for column in connection.execute(statement.text, parameters).description or []]
    read = inspect.getsource(rows.found).replace("id_", "id").replace(" offset,", " utc_offset,")
    assert ", ".join(names) + " = row" in read


def test_search_is_given_what_it_declares() -> None:
    given = {"user_id", *rows.search_parameters("nobody", Question(), 1, Caps())}
    assert given == set(query("search").parameters)


def test_parameters_may_go_on_over_lines_and_comments_may_hold_anything() -> None:
    loaded = parse(
        "two", "-- 100 %(not)s %\n-- parameters: a text,\n--   b timestamptz[]\nSELECT %(a)b, -- %(c)b\n\n%(b)b\n"
    )
    assert loaded == Query("two", b"SELECT %(a)b,\n%(b)b", {"a": "text", "b": "timestamptz[]"})


@pytest.mark.parametrize(
    "source",
    [
        "SELECT 1",
        "-- parameters:\nSELECT %(a)b",
        "-- parameters: a text\nSELECT 1",
        "-- parameters: a text\nSELECT %(b)b",
        "-- parameters: a text\n-- %(a)b\nSELECT 1",
    ],
)
def test_declaration_that_differs_from_use_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"sql/wrong\.sql"):
        parse("wrong", source)
