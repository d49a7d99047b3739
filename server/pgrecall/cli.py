"""The command. Settings are read here, and nowhere else."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from fastapi import FastAPI
from rich.console import Console
from rich.table import Table

from pgrecall import __version__, migrating, readiness, serving, smoke, store
from pgrecall.app import create_app, make_embedder, make_language_model
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.environment import load
from pgrecall.errors import StartRefused
from pgrecall.settings import PREFIX, Settings, revealed

app = typer.Typer(
    name="pgrecall",
    help="A memory server for AI agents that lives in one Postgres.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)
console = Console(highlight=False)
complaints = Console(stderr=True, highlight=False)


def main() -> None:
    """Entry point: what must not start says why in two lines, not in a traceback."""
    try:
        app()
    except StartRefused as refusal:
        complaints.print(f"[bold red]✗[/] {refusal.reason}", markup=True, soft_wrap=True)
        complaints.print(f"  {refusal.remedy}", soft_wrap=True)
        sys.exit(1)


def settled(**overrides: Any) -> Settings:
    """The settings; says what was ignored."""
    settings, notes = load({name: value for name, value in overrides.items() if value is not None})
    for note in notes:
        complaints.print(f"[yellow]![/] {note}", soft_wrap=True)
    return settings


@contextmanager
def running(settings: Settings) -> Iterator[tuple[str, EmbeddedPostgres | None]]:
    """The database's URL: the one that is set, or the embedded Postgres for as long as the block runs."""
    url = revealed(settings.database_url)
    if url is not None:
        yield url, None
        return
    with EmbeddedPostgres(settings.data_dir) as embedded:
        yield embedded.url, embedded


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
    # uvicorn raises the signal again when it has shut down: the embedded Postgres must still be stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    settings = settled(host=host, port=port, workers=workers)
    create_app(settings, "")  # an open door is refused before anything starts
    with running(settings) as (url, embedded):
        prepare(settings, url, embedded is not None)
        serving.run(settings, url, embedded, console)


def prepare(settings: Settings, url: str, embedded: bool) -> None:
    """Everything that must hold before serving. Raises StartRefused."""
    identity = make_embedder(settings).identity
    make_language_model(settings)
    migration_url = revealed(settings.migration_url) or url
    if embedded or settings.migrate_on_start:
        store.wait_for(migration_url, settings.database_wait).close()
        migrating.upgrade(migration_url, settings.database_schema)
    with store.administration(url, settings.database_schema, settings.database_wait) as connection:
        findings = readiness.inspect(connection, identity)
        for finding in findings:
            if finding.level == "warning":
                complaints.print(f"[yellow]![/] {finding.name}: {finding.detail}", soft_wrap=True)
        readiness.require(findings)
        readiness.record_identity(connection, identity)


def worker() -> FastAPI:
    """What each server process of several runs; the first one has put the database's URL in place."""
    settings = settled()
    url = revealed(settings.database_url)
    assert url is not None
    serving.stop_with_parent()
    return create_app(settings, url)


@app.command()
def migrate(
    to: Annotated[str, typer.Option(help="Revision; base: nothing is left.")] = "head",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before memories are dropped.")] = False,
) -> None:
    """Bring the database to the newest schema (or, with --to, back)."""
    settings = settled()
    with running(settings) as (database_url, _):
        url = revealed(settings.migration_url) or database_url
        store.wait_for(url, settings.database_wait).close()
        if to == "base" and not yes:
            typer.confirm("This drops every memory. Go on?", abort=True)
        if to == "head" or to == migrating.head():
            revision = migrating.upgrade(url, settings.database_schema, to)
        else:
            revision = migrating.downgrade(url, settings.database_schema, to)
    console.print(f"[green]✓[/] Schema {settings.database_schema} is at {revision}.")


@app.command()
def check() -> None:
    """Look at everything a server needs; say what to do about what is amiss."""
    settings = settled()
    embedder = make_embedder(settings)
    with (
        running(settings) as (url, _),
        store.administration(url, settings.database_schema, settings.database_wait) as connection,
    ):
        findings = readiness.inspect(connection, embedder.identity)
    findings += serving.providers(settings)
    table = Table("", "what", "finding", "what to do", title="pgrecall check", title_justify="left")
    signs = {"ok": "[green]✓[/]", "warning": "[yellow]![/]", "failed": "[red]✗[/]"}
    for finding in findings:
        table.add_row(signs[finding.level], finding.name, finding.detail, finding.remedy)
    console.print(table)
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
def settings_command() -> None:
    """Print every setting, its value and what it is for; secrets are masked."""
    settings = settled()
    table = Table("setting", "value", "what it is", title="pgrecall settings", title_justify="left")
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        shown = "" if value is None else str(value)  # a SecretStr prints as stars
        style = "bold" if value != field.default else ""
        table.add_row(PREFIX + name.upper(), f"[{style}]{shown}[/]" if style else shown, field.description)
    console.print(table)


@app.command()
def version() -> None:
    """Print the version."""
    console.print(__version__)
