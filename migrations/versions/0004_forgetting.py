"""Forgetting: where forgotten memories lie, how many there are, and the audit.

Online: new tables, and columns with constant defaults. Going back is refused while memories lie hidden: they would be
lost for good, or come back to those who had them forgotten.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    for kind in ("messages", "facts"):
        op.execute(
            f"CREATE TABLE forgotten_{kind} (LIKE {kind} INCLUDING COMMENTS INCLUDING DEFAULTS INCLUDING STORAGE)"
        )
        op.execute(f"COMMENT ON TABLE forgotten_{kind} IS '{COMMENTS[kind]}'")
        op.drop_column(f"forgotten_{kind}", "sort_at")
        op.create_primary_key(op.f(f"forgotten_{kind}_pkey"), f"forgotten_{kind}", ["user_id", "n"])
        op.create_foreign_key(
            op.f(f"forgotten_{kind}_user_id_fkey"),
            f"forgotten_{kind}",
            "requests",
            ["user_id", "request_id"],
            ["user_id", "request_id"],
        )
        op.add_column(
            f"forgotten_{kind}",
            sa.Column("audit_id", sa.Uuid(), nullable=False, comment=f"The forgetting that took it out of {kind}"),
        )
    op.add_column(
        "forgotten_facts",
        sa.Column(
            "asked",
            sa.Boolean(),
            nullable=False,
            comment="Forgotten by its own id; false: with the last message that it rested on",
        ),
    )
    op.create_table(
        "audit",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column("audit_id", sa.Uuid(), nullable=False, comment="Of this row; restores what this forgetting hid"),
        sa.Column(
            "done_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was done",
        ),
        sa.Column("action", sa.Text(), nullable=False, comment="forget, erase or restore"),
        sa.Column(
            "selected_by",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="What the call named: ids, session_id, ...",
        ),
        sa.Column("messages", sa.Integer(), nullable=False, comment="Messages forgotten, erased or restored"),
        sa.Column("facts", sa.Integer(), nullable=False, comment="Facts forgotten, erased or restored"),
        sa.PrimaryKeyConstraint("user_id", "audit_id", name=op.f("audit_pkey")),
        sa.CheckConstraint("action IN ('forget', 'erase', 'restore')", name=op.f("audit_action_check")),
        comment="Who had what forgotten, erased or restored, and when; never what was said",
    )
    op.add_column(
        "users",
        sa.Column(
            "forgotten",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="Of the memories below next_n those that are forgotten",
        ),
    )
    op.add_column(
        "sessions",
        sa.Column(
            "forgotten",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Of its messages those that are forgotten",
        ),
    )


COMMENTS = {
    "messages": "Messages that are forgotten and not erased: no search reads them",
    "facts": "Facts that are forgotten and not erased: no search reads them",
}


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.execute(
        """
        DO $$ BEGIN
            IF EXISTS (SELECT FROM forgotten_messages) OR EXISTS (SELECT FROM forgotten_facts) THEN
                RAISE EXCEPTION 'forgotten memories lie hidden: restore or erase them before going back';
            END IF;
        END $$
        """
    )
    op.drop_column("sessions", "forgotten")
    op.drop_column("users", "forgotten")
    op.drop_table("audit")
    op.drop_table("forgotten_facts")
    op.drop_table("forgotten_messages")
