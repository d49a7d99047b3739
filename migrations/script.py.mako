"""${message}

Rules, each from somebody's outage:
- Never edit a migration that has landed: write the next one.
- Forward and back, tested with rows in the tables (tests/migrations).
- Large tables: add columns without rewriting (no volatile default), constraints NOT VALID and then VALIDATE,
  indexes CONCURRENTLY in `with op.get_context().autocommit_block():`.
- The running server of the version before must go on working on the new schema.
- Nothing of another schema, never DROP or ALTER the extension.

Revises: ${down_revision | comma,n}
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

# A migration that waits for a lock makes everyone behind it wait as well.
LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    ${downgrades if downgrades else "pass"}
