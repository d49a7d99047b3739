"""Messages of a user by when they were said: for questions that name a time, in large logs.

Online: the index is built while the server writes; a broken attempt is made anew.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS messages_user_id_sort_at_idx")
        op.create_index(
            op.f("messages_user_id_sort_at_idx"), "messages", ["user_id", "sort_at"], postgresql_concurrently=True
        )


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.drop_index("messages_user_id_sort_at_idx", table_name="messages")
