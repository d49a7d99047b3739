"""The command. Settings are read here, and nowhere else."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgrecall import __version__, checking, connections, migrating, readiness, serving, smoke
from pgrecall.app import create_app, make_embedder
from pgrecall.bulk_commands import export_command, import_command
from pgrecall.commandline import complaints, console, prepare, running, settled
from pgrecall.environment import variable
from pgrecall.errors import StartRefused
from pgrecall.extract_command import extract_command
from pgrecall.settings import Settings, revealed, shown

app = typer.Typer(
    name="pgrecall",
    help="A memory server for AI agents that lives in one Postgres.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)
app.command("import")(import_command)
app.command("export")(export_command)
app.command("extract")(extract_command)
PIPED = 160
"""Columns of the settings when nobody's terminal bounds them."""


def main() -> None:
    """Entry point: what must not start says why in two lines, not in a traceback."""
    try:
        app()
    except StartRefused as refusal:
        complaints.print(serving.complaint(refusal), soft_wrap=True)
        sys.exit(1)


@contextmanager
def database() -> Iterator[tuple[str, str]]:
    """For bare `alembic` (migrations/env.py): URL and schema."""
    settings = settled()
    with running(settings) as (url, _):
        yield revealed(settings.migration_url) or url, settings.database_schema


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address; beyond loopback a scheme must be chosen.")] = None,
    port: Annotated[int | None, typer.Option(help="Port.")] = None,
    workers: Annotated[int | None, typer.Option(help="Server processes.")] = None,
) -> None:
    """Serve; without PGRECALL_DATABASE_URL on the embedded Postgres."""
    # Also after uvicorn has shut down, when it raises the signal again: the embedded Postgres must be stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    if hasattr(signal, "SIGHUP"):  # a closed terminal; Windows has no such signal
        signal.signal(signal.SIGHUP, lambda number, frame: signal.raise_signal(signal.SIGTERM))
    settings = settled(host=host, port=port, workers=workers)
    create_app(settings, "")  # an open door is refused before anything starts
    with serving.listen(settings.host, settings.port) as listener, running(settings) as (url, embedded):
        prepare(settings, url, embedded is not None)
        serving.run(settings, url, embedded, listener, console)


@app.command()
def migrate(
    to: Annotated[str, typer.Option(help="Revision; base: nothing is left.")] = "head",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before memories are dropped.")] = False,
) -> None:
    """Bring the database to the newest schema (or, with --to, back)."""
    settings = settled()
    if to not in {"base", "head", *migrating.revisions()}:
        known = ", ".join(sorted(migrating.revisions()))
        raise StartRefused("--to names no revision.", f"Known are base, {known} and head.")
    if to == "base" and not yes:
        typer.confirm("This drops every memory. Go on?", abort=True)
    with running(settings) as (database_url, _):
        url = revealed(settings.migration_url) or database_url
        connections.wait_for(url, settings.database_wait).close()
        move = migrating.upgrade if to in ("head", migrating.head()) else migrating.downgrade
        revision = move(url, settings.database_schema, to)
    console.print(Text.assemble(("✓", "green"), f" Schema {settings.database_schema} is at {revision}."))


@app.command()
def check() -> None:
    """Look at everything a server needs; say what to do about what is amiss."""
    settings = settled()
    findings: list[readiness.Finding] = []
    try:
        identity = make_embedder(settings).identity
        with (
            running(settings) as (url, _),
            connections.administration(url, settings.database_schema) as connection,
        ):
            findings += readiness.inspect(connection, identity)
        findings += checking.providers(settings)
    except StartRefused as refusal:
        findings.append(readiness.Finding("start", "failed", refusal.reason, refusal.remedy))
    console.print(checking.table(findings))
    if any(finding.level == "failed" for finding in findings):
        raise typer.Exit(1)


@app.command("smoke")
def smoke_command(
    url: Annotated[str, typer.Argument(help="A running server, such as http://127.0.0.1:8000")],
) -> None:
    """Run the contract against a server, with users of its own; exit code 1 if a line fails."""
    settings = settled()
    secret = revealed(settings.auth_token)
    scheme = settings.auth_scheme if settings.auth_scheme != "none" else None
    if not smoke.run(url, secret=secret if scheme else None, scheme=scheme, console=console):
        raise typer.Exit(1)


@app.command("settings")
def settings_command(
    markdown: Annotated[bool, typer.Option("--markdown", help="Names, defaults and what they are.")] = False,
) -> None:
    """Print every setting, its value and what it is for; secrets are masked."""
    if markdown:
        console.print(checking.markdown(), soft_wrap=True, markup=False)
        return
    settings = settled()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold", style="dim")
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        style = "bold" if value != field.default else ""
        grid.add_row(variable(name), Text(shown(settings, name), style), Text(field.description or ""))
    # Piped, a setting is a line: for grep.
    (console if console.is_terminal else Console(highlight=False, width=PIPED)).print(grid)


@app.command()
def version() -> None:
    """Print the version."""
    console.print(__version__)
