"""What alembic runs. `pgrecall migrate` hands it a connection; bare `alembic` makes one from the settings."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from pgrecall import migrating
from pgrecall.models import VERSION_TABLE, Base


def run(connection: Connection) -> None:
    """Each migration in a transaction of its own, so that what is done stays done."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        version_table=VERSION_TABLE,
        # Named, for another pgrecall may live in a schema behind on the search_path.
        version_table_schema=connection.dialect.default_schema_name,
        include_name=lambda name, kind, parents: name != VERSION_TABLE,
        transaction_per_migration=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    from pgrecall.cli import database  # not above: cli imports migrating, which reads this folder

    with database() as (url, schema), migrating.migrator(url, schema) as made:
        run(made)
