"""sql/*.sql as typed statements. Each file says what it does and declares its parameters:

    -- parameters: user_id text, ids uuid[]

The declaration is checked against what the statement uses, when it is loaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]


def shipped(name: str) -> Path:
    """A folder that ships with the package: inside the wheel, or at the top of a checkout."""
    inside = HERE / name
    return inside if inside.is_dir() else CHECKOUT / name


@dataclass(frozen=True, slots=True)
class Query:
    """One statement. `text` has psycopg placeholders: %(name)b binary, %(name)s as the driver likes."""

    name: str
    text: bytes
    parameters: dict[str, str]
    """Name to Postgres type, as declared."""


DECLARATION = re.compile(r"^-- parameters:(.*(?:\n--   .*)*)", re.MULTILINE)
PLACEHOLDER = re.compile(r"%\((\w+)\)[bs]")


@cache
def query(name: str) -> Query:
    """The statement in sql/<name>.sql. Raises ValueError where declaration and use differ."""
    return parse(name, (shipped("sql") / f"{name}.sql").read_text(encoding="utf-8"))


@cache
def over(tables: str, name: str) -> Query:
    """The statement in sql/<name>.sql with the CTEs of sql/<tables>.sql before its own: they bear names of tables,
    and so stand in their place. Raises ValueError as `query`, and where one of the two begins with no WITH."""
    before, after = query(tables), query(name)
    if not (before.text.startswith(b"WITH ") and after.text.startswith(b"WITH ")):
        raise ValueError(f"sql/{tables}.sql and sql/{name}.sql must begin with WITH")
    text = before.text + b"," + after.text.removeprefix(b"WITH")
    return Query(f"{name} over {tables}", text, before.parameters | after.parameters)


def parse(name: str, source: str) -> Query:
    """The statement that a file holds. Raises ValueError where declaration and use differ."""
    declared = DECLARATION.search(source)
    if declared is None:
        raise ValueError(f"sql/{name}.sql declares no parameters")
    pairs = [part.split() for part in declared[1].replace("\n--", " ").split(",") if part.strip()]
    parameters = {pair[0]: " ".join(pair[1:]) for pair in pairs}
    # A % or a %(word)s in a comment would become a parameter: comments stay in the file.
    text = "\n".join(line.split("--")[0].rstrip() for line in source.splitlines())
    text = "\n".join(line for line in text.splitlines() if line)
    used = set(PLACEHOLDER.findall(text))
    if used != set(parameters):
        raise ValueError(f"sql/{name}.sql: declared {sorted(parameters)}, used {sorted(used)}")
    return Query(name, text.encode(), parameters)
