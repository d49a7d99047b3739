"""The memory server: users, sessions, requests, messages, facts, the embedding identity, two views."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# A migration that waits for a lock makes everyone behind it wait as well.
LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"

# security_invoker: a view shows what the role that asks may see, never what its owner may.
LOG = """
CREATE VIEW log WITH (security_invoker = true) AS
SELECT user_id, session_id, occurred_at, turn_index, speaker, content, n, id
FROM messages
ORDER BY user_id, sort_at, session_id, turn_index
"""
FACT_LOG = """
CREATE VIEW fact_log WITH (security_invoker = true) AS
SELECT f.user_id, f.session_id, f.occurred_at, f.content,
       (SELECT string_agg(CASE WHEN starts_with(m.content, m.speaker || ':') THEN m.content
                               ELSE m.speaker || ': ' || m.content END, E'\\n' ORDER BY m.n)
        FROM messages AS m WHERE m.user_id = f.user_id AND m.n = ANY (f.source_ns)) AS rests_on,
       f.language_model, f.prompt_version, f.n, f.id
FROM facts AS f
ORDER BY f.user_id, f.sort_at, f.n
"""


def upgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.create_table(
        "embedding_identity",
        sa.Column("only_row", sa.Boolean(), server_default="true", nullable=False, comment="Always true"),
        sa.Column("backend", sa.Text(), nullable=False, comment="static, openai or fastembed"),
        sa.Column("model", sa.Text(), nullable=False, comment="The model's name"),
        sa.Column(
            "dimensions", sa.Integer(), nullable=False, comment="Dimensions the model returns, before padding"
        ),
        sa.Column("endpoint", sa.Text(), nullable=False, comment="Base URL of the provider; empty for a local one"),
        sa.Column(
            "preprocessing",
            sa.Integer(),
            nullable=False,
            comment="Version of rendering, segmentation and pooling",
        ),
        sa.Column(
            "recorded_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="First start",
        ),
        sa.CheckConstraint("only_row", name=op.f("embedding_identity_only_row_check")),
        sa.PrimaryKeyConstraint("only_row", name=op.f("embedding_identity_pkey")),
        comment="What the stored vectors mean: a server with another identity refuses to start",
    )
    op.create_table(
        "users",
        sa.Column(
            "user_id",
            sa.Text(collation="C"),
            nullable=False,
            comment="The id as sent, or sha256:<hex> where it is over 512 bytes or not storable as text",
        ),
        sa.Column(
            "original_id",
            sa.LargeBinary(),
            nullable=True,
            comment="The id as sent (UTF-8), where user_id is its hash",
        ),
        sa.Column(
            "next_n",
            sa.BigInteger(),
            nullable=False,
            comment="The number n that this user's next memory gets",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="First request stored",
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("users_pkey")),
        comment="One row per owner of a log, with the counter that numbers its memories",
    )
    op.create_table(
        "requests",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column("request_id", sa.Text(collation="C"), nullable=False, comment="The Add; hashed like user_id"),
        sa.Column(
            "original_id",
            sa.LargeBinary(),
            nullable=True,
            comment="The id as sent (UTF-8), where request_id is its hash",
        ),
        sa.Column("session_id", sa.Text(collation="C"), nullable=False, comment="The conversation it belongs to"),
        sa.Column(
            "body_digest",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of the recognised fields: tells a repeat from another body",
        ),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was stored; never a message's time",
        ),
        sa.Column("message_count", sa.Integer(), nullable=False, comment="Messages stored"),
        sa.Column("fact_count", sa.Integer(), nullable=False, comment="Facts stored"),
        sa.Column(
            "extraction",
            sa.Text(),
            nullable=False,
            comment="off: no model asked; done; failed: may be made up for; refused: the model will not",
        ),
        sa.Column(
            "extraction_reason",
            sa.Text(),
            nullable=True,
            comment="Why, where extraction failed or was refused",
        ),
        sa.CheckConstraint(
            "extraction IN ('off', 'done', 'failed', 'refused')", name=op.f("requests_extraction_check")
        ),
        sa.CheckConstraint("octet_length(body_digest) = 32", name=op.f("requests_body_digest_check")),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name=op.f("requests_user_id_fkey")),
        sa.PrimaryKeyConstraint("user_id", "request_id", name=op.f("requests_pkey")),
        comment="One row per Add: makes a repeat recognisable, and says what became of its facts",
    )
    op.create_table(
        "sessions",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column(
            "session_id",
            sa.Text(collation="C"),
            nullable=False,
            comment="The conversation; hashed like user_id",
        ),
        sa.Column(
            "original_id",
            sa.LargeBinary(),
            nullable=True,
            comment="The id as sent (UTF-8), where session_id is its hash",
        ),
        sa.Column(
            "next_turn_index",
            sa.Integer(),
            nullable=False,
            comment="The turn_index that the next message gets",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name=op.f("sessions_user_id_fkey")),
        sa.PrimaryKeyConstraint("user_id", "session_id", name=op.f("sessions_pkey")),
        comment="One row per conversation of a user, with the counter of its messages",
    )
    op.create_table(
        "facts",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column(
            "n",
            sa.BigInteger(),
            nullable=False,
            comment="Number among this user's memories, in order of commit",
        ),
        sa.Column(
            "id",
            sa.Uuid(),
            nullable=False,
            comment="The id on the wire, derived from user, request and position",
        ),
        sa.Column(
            "turn_index", sa.Integer(), nullable=False, comment="turn_index of the first message it rests on"
        ),
        sa.Column("position", sa.Integer(), nullable=False, comment="Place among its request's facts, from 0"),
        sa.Column("characters", sa.Integer(), nullable=False, comment="Characters of the rendered line"),
        sa.Column(
            "tokens",
            sa.Integer(),
            nullable=False,
            comment="Tokens of the rendered line, estimated from above",
        ),
        sa.Column(
            "prompt_version", sa.SmallInteger(), nullable=False, comment="Version of the prompt that drew it"
        ),
        sa.Column(
            "occurred_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its first message was said",
        ),
        sa.Column(
            "sort_at",
            sa.DateTime(timezone=True),
            sa.Computed("coalesce(occurred_at, '-infinity'::timestamp with time zone)", persisted=True),
            nullable=False,
            comment="occurred_at, undated first",
        ),
        sa.Column(
            "line_key",
            sa.LargeBinary(),
            nullable=False,
            comment="16 bytes of SHA-256 of the rendered line, case and space folded: finds repeats",
        ),
        sa.Column(
            "session_id", sa.Text(collation="C"), nullable=False, comment="The conversation it was drawn from"
        ),
        sa.Column("request_id", sa.Text(collation="C"), nullable=False, comment="The Add it was drawn from"),
        sa.Column("language_model", sa.Text(), nullable=False, comment="Name of the model that drew it"),
        sa.Column("content", sa.Text(), nullable=False, comment="The fact, one first-person sentence"),
        sa.Column(
            "source_ns",
            sa.ARRAY(sa.BigInteger()),
            nullable=False,
            comment="Numbers n of the messages it rests on",
        ),
        sa.Column(
            "embedding",
            HALFVEC(1024),
            nullable=False,
            comment="Of the rendered line, length 1; padded with zeros to 1024",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "request_id"],
            ["requests.user_id", "requests.request_id"],
            name=op.f("facts_user_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("user_id", "n", name=op.f("facts_pkey")),
        comment="Atomic first-person facts that a language model drew from a request",
    )
    op.create_table(
        "messages",
        sa.Column("user_id", sa.Text(collation="C"), nullable=False, comment="Whose log it is"),
        sa.Column(
            "n",
            sa.BigInteger(),
            nullable=False,
            comment="Number among this user's memories, in order of commit",
        ),
        sa.Column(
            "id",
            sa.Uuid(),
            nullable=False,
            comment="The id on the wire, derived from user, request and position",
        ),
        sa.Column("turn_index", sa.Integer(), nullable=False, comment="Place in its session, in order of arrival"),
        sa.Column("position", sa.Integer(), nullable=False, comment="Place in its request, from 0"),
        sa.Column("characters", sa.Integer(), nullable=False, comment="Characters of the rendered line"),
        sa.Column(
            "tokens",
            sa.Integer(),
            nullable=False,
            comment="Tokens of the rendered line, estimated from above",
        ),
        sa.Column(
            "dated",
            sa.Boolean(),
            nullable=False,
            comment="False: occurred_at was taken from a dated message of its request",
        ),
        sa.Column(
            "occurred_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was said; NULL: nothing dates it",
        ),
        sa.Column(
            "sort_at",
            sa.DateTime(timezone=True),
            sa.Computed("coalesce(occurred_at, '-infinity'::timestamp with time zone)", persisted=True),
            nullable=False,
            comment="occurred_at, undated first: with turn_index the order in a session",
        ),
        sa.Column(
            "line_key",
            sa.LargeBinary(),
            nullable=False,
            comment="16 bytes of SHA-256 of the rendered line, case and space folded: finds repeats",
        ),
        sa.Column("session_id", sa.Text(collation="C"), nullable=False, comment="The conversation it belongs to"),
        sa.Column("request_id", sa.Text(collation="C"), nullable=False, comment="The Add that brought it"),
        sa.Column("role", sa.Text(), nullable=False, comment="user, assistant, or whatever was sent"),
        sa.Column("speaker", sa.Text(), nullable=False, comment="The name a reader sees; I for the owner"),
        sa.Column("content", sa.Text(), nullable=False, comment="The text, verbatim"),
        sa.Column(
            "embedding",
            HALFVEC(1024),
            nullable=False,
            comment="Of the rendered line, length 1; padded with zeros to 1024",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "request_id"],
            ["requests.user_id", "requests.request_id"],
            name=op.f("messages_user_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("user_id", "n", name=op.f("messages_pkey")),
        comment="What was said, verbatim; the view log shows it in order",
    )
    op.create_index(
        "messages_order_idx", "messages", ["user_id", "session_id", "sort_at", "turn_index"], unique=True
    )
    for table in ("messages", "facts"):
        # PLAIN: out of line, the exact scan of 2,000 memories took 23 to 53 ms instead of 3 to 5.
        op.execute(f"ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE PLAIN")
        # A row over 2 KB has its other columns pushed out of line; a page holds three rows of up to 2,700 bytes.
        op.execute(f"ALTER TABLE {table} SET (toast_tuple_target = 2700)")
    op.execute(LOG)
    op.execute("COMMENT ON VIEW log IS 'What was said, in order: SELECT * FROM log WHERE user_id = ...'")
    op.execute(FACT_LOG)
    op.execute("COMMENT ON VIEW fact_log IS 'What was drawn from it, beside the messages each fact rests on'")


def downgrade() -> None:
    op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
    op.execute("DROP VIEW fact_log")
    op.execute("DROP VIEW log")
    op.drop_index("messages_order_idx", table_name="messages")
    op.drop_table("messages")
    op.drop_table("facts")
    op.drop_table("sessions")
    op.drop_table("requests")
    op.drop_table("users")
    op.drop_table("embedding_identity")
