"""The commands that work on many requests at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from rich.table import Table

from pgrecall.bulk import importing
from pgrecall.bulk.exporting import export
from pgrecall.bulk.foreign import Dropped, Form, bodies
from pgrecall.bulk.progress import Bar
from pgrecall.bulk.reading import chunks, put_together
from pgrecall.bulk.session import session
from pgrecall.commandline import complaints, console, prepare, running, settled
from pgrecall.contract import parse_json
from pgrecall.errors import InvalidRequest, StartRefused

SHOWN = 50
"""Lines of a file that are named as not taken."""

File = Annotated[str, typer.Argument(help="JSON lines; - is standard input.")]


@contextmanager
def opened(name: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """A file to read, and its size; of standard input nobody knows it. Raises StartRefused."""
    if name == "-":
        yield sys.stdin.buffer, None
        return
    path = Path(name)
    if not path.is_file() or not os.access(path, os.R_OK):
        raise StartRefused(
            f"{name} is no file that can be read.", "Name a file of JSON lines; - is standard input."
        )
    with path.open("rb") as file:
        yield file, path.stat().st_size


def import_command(
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count, write nothing.")] = False,
    form: Annotated[Form | None, typer.Option("--from", help="Whose export it is, where not pgrecall's.")] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Whose memories, where an export names no one.")
    ] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="That prepare; default: one for each core.")] = None,
) -> None:
    """Store a file of Adds, of plain messages or of an export; what is stored already is skipped.

    Exit code 1 where a line was not taken.
    """
    settings = settled()
    dropped = Dropped()
    with opened(file) as (source, size), running(settings) as (url, embedded):
        prepare(settings, url, embedded is not None)
        parts = chunks(source) if form is None else put_together(foreign(form, source, user, dropped))
        bar = Bar(complaints, "counting" if dry_run else "importing", None if form else size, "messages")
        many = processes or importing.default_processes()
        summary = importing.run(parts, settings, url, processes=many, dry=dry_run, bar=bar)
    console.print(table(summary, dry_run))
    if dropped.counts:
        console.print(left_out(dropped, dry_run))
    word = "line" if form is None else "conversation"
    for line, why in summary.named[:SHOWN]:
        console.print(f"{word} {line}: {why}", soft_wrap=True, markup=False)
    if summary.conflicts + summary.refused:
        more = summary.conflicts + summary.refused - SHOWN
        if more > 0:
            console.print(f"and {more} more")
        raise typer.Exit(1)


def export_command(
    file: Annotated[str, typer.Argument(help="Where to write; - is standard output.")] = "-",
    user: Annotated[str | None, typer.Option("--user", help="Only this user's memories.")] = None,
) -> None:
    """Write all memories as JSON lines, from which `pgrecall import` makes the same again."""
    settings = settled()
    with running(settings) as (url, embedded):
        prepare(settings, url, embedded is not None)
        messages = 0
        with session(url, settings.database_schema) as connection, writable(file) as out:
            bar = Bar(complaints, "exporting", None, "messages")
            with bar:
                for messages in export(connection, out, user):
                    bar.advance(1, messages)
    complaints.print(f"{messages} messages exported")


@contextmanager
def writable(name: str) -> Iterator[IO[bytes]]:
    """A file to write, for its owner's eyes alone. Raises StartRefused."""
    if name == "-":
        yield sys.stdout.buffer
        return
    try:
        number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise StartRefused(f"{name} cannot be written: {error.strerror}.", "Name another file.") from None
    with os.fdopen(number, "wb") as file:
        yield file


def foreign(form: Form, source: IO[bytes], user: str | None, dropped: Dropped) -> Iterator[tuple[int, Any, int]]:
    """The bodies of another's export. Raises StartRefused where it is no JSON."""
    try:
        document = parse_json(source.read())
    except InvalidRequest as error:
        reason = error.reason.replace("the body", "the file")
        raise StartRefused(f"It cannot be read: {reason}.", f"Name the JSON file of an export of {form}.") from None
    for number, body in bodies(form, document, user, dropped):
        yield number, body, 0


def left_out(dropped: Dropped, dry: bool) -> Table:
    """What of another's export is not taken: how often; of a dry run also where."""
    grid = Table("left out", "how often", *(["where"] if dry else []))
    for why, times in dropped.counts.most_common():
        where = list(dict.fromkeys(place for place, because in dropped.places if because == why))
        more = ", ..." if len(where) > SHOWN else ""
        grid.add_row(why, str(times), *([", ".join(where[:SHOWN]) + more] if dry else []))
    return grid


def table(summary: importing.Summary, dry: bool) -> Table:
    """The end of an import."""
    grid = Table("", "requests")
    grid.add_row("would be added" if dry else "added", f"{summary.added} ({summary.messages} messages)")
    grid.add_row("already there", str(summary.repeats))
    grid.add_row("conflicting", str(summary.conflicts))
    grid.add_row("refused", str(summary.refused))
    return grid
