"""States that change: who has what value of which attribute, as a memory tells it.

Online: one new table. What is stored already is read for states by the running server, with the analysis of this
version (analysing.py).
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.create_table(
        "states",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="The memory that tells it"),
        sa.Column("place", sa.SmallInteger(), nullable=False, comment="Among the states that it tells, from 0"),
        sa.Column(
            "subject_key",
            sa.Text(collation="C"),
            nullable=False,
            comment="Whose state it is, folded: owner, sister, nora",
        ),
        sa.Column("attribute", sa.Text(collation="C"), nullable=False, comment="Of the registry: residence, phone"),
        sa.Column("value", sa.Text(), nullable=True, comment="As told; NULL: none follows the one that ends"),
        sa.Column("relative", sa.Boolean(), nullable=False, comment="Told relative to the value before: one more"),
        sa.Column("closes", sa.Boolean(), nullable=False, comment="The state ends, and none follows"),
        sa.Column("drawn", sa.Boolean(), nullable=False, comment="By a language model; false: by patterns"),
        sa.Column(
            "alone",
            sa.Boolean(),
            nullable=False,
            comment="The memory says nothing else that is worth keeping when this is replaced",
        ),
        sa.PrimaryKeyConstraint("user_id", "n", "place", name=op.f("states_pkey")),
        comment="States that memories tell: what is current, and what replaced what, follows from when each was said",
    )
    op.create_index(
        op.f("states_user_id_subject_key_attribute_idx"), "states", ["user_id", "subject_key", "attribute"]
    )


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.drop_table("states")
