"""The rules of the house, read from the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pgrecall

PACKAGE = Path(pgrecall.__file__).parent
CHECKOUT = PACKAGE.parents[1]
FILES = sorted(PACKAGE.rglob("*.py"))
SIZED = [path for folder in ("server", "tests", "ops") for path in sorted((CHECKOUT / folder).rglob("*.py"))]
LONGEST = 300

FLOORS = [
    {"__main__"},
    {"cli"},
    {"bulk_commands", "extract_command"},
    {"bulk", "commandline"},
    {"serving", "checking"},
    {"app"},
    {"routes", "smoke"},
    {"access", "adding", "analysing", "forgetting", "indexing", "searching", "readiness"},
    {"drawing", "versioning"},
    {"migrating", "rights", "environment", "embedded"},
    {"store"},
    {"connections"},
    {"rows", "embedding", "language"},
    {"coded"},
    {"derived", "stating"},
    {"contract", "lexical", "models", "queries", "ids", "providers"},
    {"settings", "memory", "rendering", "deadline", "tally", "stopwords", "concurrently"},
    {"temporal", "versions"},
    {"errors"},
]
"""The house from the roof down: each file or folder imports only from floors below its own."""
FLOOR = {part: number for number, parts in enumerate(FLOORS) for part in parts}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Every name that the file imports, dotted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(path: Path) -> Iterator[str]:
    """What the file calls, as it is written there: `psycopg.connect`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_every_part_has_its_floor() -> None:
    assert {part_of(path) for path in FILES} - {"__init__"} == set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    part = part_of(path)
    for name in imported(path):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package == "pgrecall" and other in FLOOR and other != part:
            assert FLOOR[other] > FLOOR[part], f"{part} imports {other}"


def test_only_one_module_opens_connections() -> None:
    doors = ("psycopg.connect", "Connection.connect", "ConnectionPool", "create_engine", "create_async_engine")
    openers = {path.name for path in FILES if any(name.endswith(doors) for name in called(path))}
    assert openers == {"connections.py"}


@pytest.mark.parametrize("word", ["util", "helper", "manager", "common", "item", "record"])
def test_no_file_has_a_name_that_says_nothing(word: str) -> None:
    assert [path.name for path in FILES if word in path.stem] == []


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SIZED}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_every_file_says_what_it_is_for() -> None:
    silent = [path.name for path in FILES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert silent == []
