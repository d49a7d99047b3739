"""What the commands share: the settings, the database they run on, and where they print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from pgrecall import connections, migrating, readiness
from pgrecall.app import make_embedder, make_language_model
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.environment import load
from pgrecall.settings import Settings, revealed

console = Console(highlight=False)
complaints = Console(stderr=True, highlight=False)


def settled(**overrides: Any) -> Settings:
    """The settings; says what was ignored."""
    settings, notes = load({name: value for name, value in overrides.items() if value is not None})
    for note in notes:
        warn(note)
    return settings


def warn(line: str) -> None:
    complaints.print(Text.assemble(("! ", "yellow"), line), soft_wrap=True)


@contextmanager
def running(settings: Settings) -> Iterator[tuple[str, EmbeddedPostgres | None]]:
    """The database's URL: the one that is set, or the embedded Postgres for as long as the block runs."""
    url = revealed(settings.database_url)
    if url is not None:
        yield url, None
        return
    with EmbeddedPostgres(settings.data_dir) as embedded:
        yield embedded.url, embedded


def prepare(settings: Settings, url: str, embedded: bool) -> None:
    """Everything that must hold before serving. Raises StartRefused."""
    identity = make_embedder(settings).identity
    make_language_model(settings)
    migration_url = revealed(settings.migration_url) or url
    if embedded or settings.migrate_on_start:
        connections.wait_for(migration_url, settings.database_wait).close()
        migrating.upgrade(migration_url, settings.database_schema)
    with connections.administration(url, settings.database_schema, settings.database_wait) as connection:
        findings = readiness.inspect(connection, identity)
        for finding in findings:
            if finding.level == "warning":
                warn(f"{finding.name}: {finding.detail}")
        readiness.require(findings)
        readiness.record_identity(connection, identity)
