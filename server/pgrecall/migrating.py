"""Migrations: numbered, up and down, one migrator at a time. Files in migrations/versions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psycopg
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from pgrecall import connections
from pgrecall.errors import StartRefused
from pgrecall.models import VERSION_TABLE
from pgrecall.queries import shipped

if TYPE_CHECKING:
    from alembic.config import Config

EXTENSION_SCHEMA = (
    "SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
    " WHERE e.extname = 'vector'"
)

MADE = (
    "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE n.nspname = :schema AND c.relname = :name"
)

LOCK = 0x70677265_63616C6C
"""Key of the advisory lock: "pgrecall" in ASCII."""
LOCK_PAUSE = 0.1
"""Seconds between two tries for it."""


def config(connection: Connection | None = None) -> Config:
    """Alembic's configuration, the same from a checkout and from the wheel."""
    # Not above, here and below: alembic is an eighth of what a start imports, and seldom has something to do.
    from alembic.config import Config

    made = Config()
    made.set_main_option("script_location", str(shipped("migrations")).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def revisions() -> list[str]:
    """Every revision that this version of the server knows, oldest first: the numbers of the files."""
    return sorted(path.name[:4] for path in (shipped("migrations") / "versions").glob("[0-9]*.py"))


def head() -> str:
    """The newest revision that this version of the server knows."""
    return revisions()[-1]


def current(connection: Connection) -> str | None:
    """The revision of the database, None where it was never migrated. Begins a transaction."""
    schema = str(connection.dialect.default_schema_name)
    made = connection.execute(text(MADE), {"schema": schema, "name": VERSION_TABLE}).scalar()
    if made is None:
        return None
    table = f"{connections.quoted(schema)}.{VERSION_TABLE}".replace("%", "%%")
    return connection.exec_driver_sql(f"SELECT version_num FROM {table}").scalar()  # noqa: S608  quoted


@contextmanager
def migrator(url: str, schema: str) -> Iterator[Connection]:
    """A connection that alone may migrate, its search_path set, schema and extension in place.

    Waits for another migrator. Raises StartRefused where a right is missing, with what to ask for, and where
    Postgres fails a migration.
    """
    with connections.administration(url, schema) as connection:
        try:
            _lock(connection)
            prepare(connection, schema)
            yield connection
        except DBAPIError as error:
            raise StartRefused(
                f"The migration failed, and this step of it left nothing behind: {connections.reason(error)}.",
                "Run it again: pgrecall migrate. Where it waited for a lock, when nothing holds that any more.",
            ) from error
        finally:
            _unlock(connection)


def _lock(connection: Connection) -> None:
    """Asks again and again: a statement that waits holds a snapshot, for which an index built online by the one who
    has the lock would wait in turn."""
    while not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": LOCK}).scalar_one():
        connection.rollback()
        time.sleep(LOCK_PAUSE)
    connection.commit()


def _unlock(connection: Connection) -> None:
    """A lost connection has given the lock back: what lost it is the error to be seen, not a second one here."""
    with suppress(DBAPIError, psycopg.Error):
        connection.rollback()
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": LOCK})
        connection.commit()


def prepare(connection: Connection, schema: str) -> None:
    """Create the schema and the extension, each only where it is absent; see that this role may use them."""
    role = connection.execute(text("SELECT quote_ident(current_user)")).scalar_one()
    for present, statement, what in (
        (
            text("SELECT 1 FROM pg_namespace WHERE nspname = :schema").bindparams(schema=schema),
            f"CREATE SCHEMA {connections.quoted(schema)} AUTHORIZATION {role}",
            f"schema {schema}",
        ),
        (
            text("SELECT 1 FROM pg_extension WHERE extname = 'vector'"),
            "CREATE EXTENSION vector",
            "extension vector",
        ),
    ):
        if connection.execute(present).scalar():
            continue
        try:
            connection.exec_driver_sql(statement.replace("%", "%%"))
            connection.commit()
        except DBAPIError as error:
            connection.rollback()
            raise StartRefused(
                f"The {what} is absent, and this role may not create it ({connections.reason(error)}).",
                f"Ask the administrator to run, in this database: {statement};",
            ) from error
    connections.set_search_path(connection, schema)
    _check_rights(connection, schema, role)


def _check_rights(connection: Connection, schema: str, role: str) -> None:
    """Without USAGE Postgres finds nothing in a schema, and says no more than that it does not exist."""
    extension_schema = connection.execute(text(EXTENSION_SCHEMA)).scalar_one()
    for name, right in ((extension_schema, "USAGE"), (schema, "USAGE"), (schema, "CREATE")):
        if right == "CREATE" and current(connection) == head():
            continue
        granted = text("SELECT has_schema_privilege(:name, :right)").bindparams(name=name, right=right)
        if not connection.execute(granted).scalar_one():
            raise StartRefused(
                f"This role may not use the schema {name}: the right {right} is missing.",
                f"Ask the administrator to run, in this database:"
                f" GRANT {right} ON SCHEMA {connections.quoted(name)} TO {role};",
            )
    connection.commit()


def upgrade(url: str, schema: str, revision: str = "head") -> str:
    """Migrate up to `revision`; returns where the database stands then."""
    with migrator(url, schema) as connection:
        if _known(connection) != (head() if revision == "head" else revision):
            from alembic import command

            command.upgrade(config(connection), revision)
        return current(connection) or "base"


def downgrade(url: str, schema: str, revision: str) -> str:
    """Migrate down to `revision` ("base": nothing is left but the extension)."""
    with migrator(url, schema) as connection:
        _known(connection)
        from alembic import command

        command.downgrade(config(connection), revision)
        return current(connection) or "base"


def _known(connection: Connection) -> str | None:
    """The revision of the database, outside a transaction. Raises StartRefused where a newer version made it."""
    here = current(connection)
    connection.rollback()
    if here is not None and here not in revisions():
        raise StartRefused(
            f"The database is at {here}, which this version does not know.",
            "Use the newer pgrecall that migrated it.",
        )
    return here
