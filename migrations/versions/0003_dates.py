"""Dates said in words; the clock of who speaks; the words that terms come from.

Online: one new table, columns with constant defaults or without any. What is stored already is read for dates by the
running server, with the analysis of this version (analysing.py).
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.create_table(
        "dates",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="The memory that says it"),
        sa.Column("place", sa.Integer(), nullable=False, comment="Characters of its content before it"),
        sa.Column("surface", sa.Text(), nullable=False, comment="The words that say it"),
        sa.Column(
            "grain",
            sa.Text(),
            nullable=False,
            comment="How exact the words are: day, week, weekend, month, season, quarter, year, span",
        ),
        sa.Column("first_day", sa.Date(), nullable=False, comment="First day meant, by the speaker's clock"),
        sa.Column("last_day", sa.Date(), nullable=False, comment="Last day meant"),
        sa.Column("rule", sa.Text(), nullable=False, comment="The rule that resolved it"),
        sa.PrimaryKeyConstraint("user_id", "n", "place", name=op.f("dates_pkey")),
        comment="Dates said in words, resolved against the time of their memory: one row for each",
    )
    for table in ("messages", "facts"):
        op.add_column(
            table,
            sa.Column(
                "utc_offset",
                sa.SmallInteger(),
                server_default="0",
                nullable=False,
                comment="Minutes that the clock of who speaks is ahead of UTC",
            ),
        )
        op.add_column(
            table,
            sa.Column(
                "gloss_characters",
                sa.Integer(),
                server_default="0",
                nullable=False,
                comment="Characters that the dates resolved in the line add to it",
            ),
        )
        op.add_column(
            table,
            sa.Column(
                "gloss_tokens",
                sa.Integer(),
                server_default="0",
                nullable=False,
                comment="Tokens that they add, estimated from above",
            ),
        )
    op.add_column(
        "terms",
        sa.Column(
            "words",
            postgresql.ARRAY(sa.Text()),
            nullable=True,
            comment="The words of that memory whose spellings bring this term; NULL: the term itself",
        ),
    )


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.drop_column("terms", "words")
    for table in ("facts", "messages"):
        op.drop_column(table, "gloss_tokens")
        op.drop_column(table, "gloss_characters")
        op.drop_column(table, "utc_offset")
    op.drop_table("dates")
