"""Terms of memories and spellings of words; on users, how much of a log is analysed.

Online: two new tables, and columns with constant defaults, which rewrite nothing. What is stored already is
analysed by the running server (analysing.py); until then search finds it by its vector.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.create_table(
        "terms",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column(
            "term",
            sa.Text(collation="C"),
            nullable=False,
            comment="A stem, a number, a character pair; or # and a hash",
        ),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="The memory that holds it"),
        sa.Column("count", sa.SmallInteger(), nullable=False, comment="How often it stands there"),
        sa.Column("length", sa.Integer(), nullable=False, comment="Terms of that memory, repeats counted"),
        sa.PrimaryKeyConstraint(
            "user_id", "term", "n", name=op.f("terms_pkey"), postgresql_include=["count", "length"]
        ),
        comment="Which memory holds which term: one row for each",
    )
    op.create_table(
        "spellings",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column(
            "key", sa.Text(collation="C"), nullable=False, comment="A word of the log, or one less one letter"
        ),
        sa.Column("missing", sa.SmallInteger(), nullable=False, comment="Letters that the key lacks: 0 or 1"),
        sa.Column("term", sa.Text(collation="C"), nullable=False, comment="The word's term"),
        sa.PrimaryKeyConstraint("user_id", "key", "missing", "term", name=op.f("spellings_pkey")),
        comment="How the words of a log may be misspelt: finds the term that a typing error meant",
    )
    op.add_column(
        "users",
        sa.Column(
            "terms_version",
            sa.SmallInteger(),
            server_default="0",
            nullable=False,
            comment="Version of the analysis of the memories below analysed_n",
        ),
    )
    op.add_column(
        "users",
        sa.Column(
            "analysed_n",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="Memories below this number have their terms in that version",
        ),
    )
    op.add_column(
        "users",
        sa.Column(
            "terms_length",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="Terms of all this user's memories, repeats counted",
        ),
    )


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.drop_column("users", "terms_length")
    op.drop_column("users", "analysed_n")
    op.drop_column("users", "terms_version")
    op.drop_table("spellings")
    op.drop_table("terms")
