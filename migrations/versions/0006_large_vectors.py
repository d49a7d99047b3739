"""One vector index for every large log: vectors with the code of their user; on users, how far it reaches.

Online: a new, empty table with its index, and a column with a constant default. Going back loses what can be made again: the next upgrade copies the vectors anew.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.create_table(
        "large_vectors",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="The memory"),
        sa.Column("coded", HALFVEC(1152), nullable=False, comment="Its vector, then the code of its user"),
        # n first: an index that leads with user_id would tempt the planner away from the vectors' own.
        sa.PrimaryKeyConstraint("n", "user_id", name=op.f("large_vectors_pkey")),
        comment="Vectors of users with many memories, for the one index over them all",
    )
    op.execute("ALTER TABLE large_vectors ALTER COLUMN coded SET STORAGE PLAIN")
    op.execute("ALTER TABLE large_vectors SET (toast_tuple_target = 2700)")
    op.create_index(
        "large_vectors_coded_idx",
        "large_vectors",
        ["coded"],
        postgresql_using="hnsw",
        postgresql_ops={"coded": "halfvec_ip_ops"},
    )
    op.add_column(
        "users",
        sa.Column(
            "indexed_through",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="Memories below this number are in large_vectors; 0: every search scans the log",
        ),
    )


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.drop_column("users", "indexed_through")
    op.drop_table("large_vectors")
