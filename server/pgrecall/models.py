"""The schema: what each table and column is. Hot statements live in sql/, not here.

Every key begins with user_id: no row of one user can be named without naming the user, and the tables
distribute by it. Ids compare as bytes (COLLATE "C").
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Computed,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    Uuid,
    func,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from pgrecall.memory import DIMENSIONS, Extraction

VERSION_TABLE = "pgrecall_version"
"""Alembic's own table, named so that it never meets the one of another application in the schema."""

Id = Text(collation="C")
When = DateTime(timezone=True)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "%(table_name)s_pkey",
            "fk": "%(table_name)s_%(column_0_name)s_fkey",
            "ix": "%(table_name)s_%(column_0_N_name)s_idx",
            "ck": "%(table_name)s_%(constraint_name)s_check",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {str: Text, datetime: When, UUID: Uuid, int: BigInteger}


class User(Base):
    """Whose log it is."""

    __tablename__ = "users"
    __table_args__ = (
        PrimaryKeyConstraint("user_id"),
        {"comment": "One row per owner of a log, with the counter that numbers its memories"},
    )
    user_id: Mapped[str] = mapped_column(
        Id, comment="The id as sent, or sha256:<hex> where it is over 512 bytes or not storable as text"
    )
    original_id: Mapped[bytes | None] = mapped_column(
        LargeBinary, comment="The id as sent (UTF-8), where user_id is its hash"
    )
    next_n: Mapped[int] = mapped_column(comment="The number n that this user's next memory gets")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="First request stored")
    terms_version: Mapped[int] = mapped_column(
        SmallInteger, server_default="0", comment="Version of the analysis of the memories below analysed_n"
    )
    analysed_n: Mapped[int] = mapped_column(
        server_default="0", comment="Memories below this number have their terms in that version"
    )
    terms_length: Mapped[int] = mapped_column(
        server_default="0", comment="Terms of all this user's memories, repeats counted"
    )


class Session(Base):
    """One conversation of a user."""

    __tablename__ = "sessions"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "session_id"),
        ForeignKeyConstraint(["user_id"], ["users.user_id"]),
        {"comment": "One row per conversation of a user, with the counter of its messages"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    session_id: Mapped[str] = mapped_column(Id, comment="The conversation; hashed like user_id")
    original_id: Mapped[bytes | None] = mapped_column(
        LargeBinary, comment="The id as sent (UTF-8), where session_id is its hash"
    )
    next_turn_index: Mapped[int] = mapped_column(Integer, comment="The turn_index that the next message gets")


class Request(Base):
    """One Add, and what became of its facts."""

    __tablename__ = "requests"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "request_id"),
        ForeignKeyConstraint(["user_id"], ["users.user_id"]),
        CheckConstraint("octet_length(body_digest) = 32", name="body_digest"),
        CheckConstraint(
            "extraction IN ({})".format(", ".join(f"'{e.value}'" for e in Extraction)), name="extraction"
        ),
        {"comment": "One row per Add: makes a repeat recognisable, and says what became of its facts"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    request_id: Mapped[str] = mapped_column(Id, comment="The Add; hashed like user_id")
    original_id: Mapped[bytes | None] = mapped_column(
        LargeBinary, comment="The id as sent (UTF-8), where request_id is its hash"
    )
    session_id: Mapped[str] = mapped_column(Id, comment="The conversation it belongs to")
    body_digest: Mapped[bytes] = mapped_column(
        LargeBinary, comment="SHA-256 of the recognised fields: tells a repeat from another body"
    )
    received_at: Mapped[datetime] = mapped_column(
        server_default=func.now(), comment="When it was stored; never a message's time"
    )
    message_count: Mapped[int] = mapped_column(Integer, comment="Messages stored")
    fact_count: Mapped[int] = mapped_column(Integer, comment="Facts stored")
    extraction: Mapped[str] = mapped_column(
        comment="off: no model asked; done; failed: may be made up for; refused: the model will not"
    )
    extraction_reason: Mapped[str | None] = mapped_column(comment="Why, where extraction failed or was refused")


class Message(Base):
    """What was said, verbatim."""

    __tablename__ = "messages"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n"),
        ForeignKeyConstraint(["user_id", "request_id"], ["requests.user_id", "requests.request_id"]),
        Index("messages_order_idx", "user_id", "session_id", "sort_at", "turn_index", unique=True),
        {"comment": "What was said, verbatim; the view log shows it in order"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    n: Mapped[int] = mapped_column(comment="Number among this user's memories, in order of commit")
    id: Mapped[UUID] = mapped_column(comment="The id on the wire, derived from user, request and position")
    turn_index: Mapped[int] = mapped_column(Integer, comment="Place in its session, in order of arrival")
    position: Mapped[int] = mapped_column(Integer, comment="Place in its request, from 0")
    characters: Mapped[int] = mapped_column(Integer, comment="Characters of the rendered line")
    tokens: Mapped[int] = mapped_column(Integer, comment="Tokens of the rendered line, estimated from above")
    dated: Mapped[bool] = mapped_column(
        Boolean, comment="False: occurred_at was taken from a dated message of its request"
    )
    occurred_at: Mapped[datetime | None] = mapped_column(comment="When it was said; NULL: nothing dates it")
    sort_at: Mapped[datetime] = mapped_column(
        Computed("coalesce(occurred_at, '-infinity'::timestamp with time zone)", persisted=True),
        comment="occurred_at, undated first: with turn_index the order in a session",
    )
    line_key: Mapped[bytes] = mapped_column(
        LargeBinary, comment="16 bytes of SHA-256 of the rendered line, case and space folded: finds repeats"
    )
    session_id: Mapped[str] = mapped_column(Id, comment="The conversation it belongs to")
    request_id: Mapped[str] = mapped_column(Id, comment="The Add that brought it")
    role: Mapped[str] = mapped_column(comment="user, assistant, or whatever was sent")
    speaker: Mapped[str] = mapped_column(comment="The name a reader sees; I for the owner")
    content: Mapped[str] = mapped_column(comment="The text, verbatim")
    embedding: Mapped[Any] = mapped_column(
        HALFVEC(DIMENSIONS), comment="Of the rendered line, length 1; padded with zeros to 1024"
    )


class Fact(Base):
    """What a language model drew from a request."""

    __tablename__ = "facts"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n"),
        ForeignKeyConstraint(["user_id", "request_id"], ["requests.user_id", "requests.request_id"]),
        {"comment": "Atomic first-person facts that a language model drew from a request"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    n: Mapped[int] = mapped_column(comment="Number among this user's memories, in order of commit")
    id: Mapped[UUID] = mapped_column(comment="The id on the wire, derived from user, request and position")
    turn_index: Mapped[int] = mapped_column(Integer, comment="turn_index of the first message it rests on")
    position: Mapped[int] = mapped_column(Integer, comment="Place among its request's facts, from 0")
    characters: Mapped[int] = mapped_column(Integer, comment="Characters of the rendered line")
    tokens: Mapped[int] = mapped_column(Integer, comment="Tokens of the rendered line, estimated from above")
    prompt_version: Mapped[int] = mapped_column(SmallInteger, comment="Version of the prompt that drew it")
    occurred_at: Mapped[datetime | None] = mapped_column(comment="When its first message was said")
    sort_at: Mapped[datetime] = mapped_column(
        Computed("coalesce(occurred_at, '-infinity'::timestamp with time zone)", persisted=True),
        comment="occurred_at, undated first",
    )
    line_key: Mapped[bytes] = mapped_column(
        LargeBinary, comment="16 bytes of SHA-256 of the rendered line, case and space folded: finds repeats"
    )
    session_id: Mapped[str] = mapped_column(Id, comment="The conversation it was drawn from")
    request_id: Mapped[str] = mapped_column(Id, comment="The Add it was drawn from")
    language_model: Mapped[str] = mapped_column(comment="Name of the model that drew it")
    content: Mapped[str] = mapped_column(comment="The fact, one first-person sentence")
    source_ns: Mapped[list[int]] = mapped_column(ARRAY(BigInteger), comment="Numbers n of the messages it rests on")
    embedding: Mapped[Any] = mapped_column(
        HALFVEC(DIMENSIONS), comment="Of the rendered line, length 1; padded with zeros to 1024"
    )


class Term(Base):
    """One term of one memory."""

    __tablename__ = "terms"
    __table_args__ = (
        # Covering: BM25 reads the index alone. No foreign key: it would double what an Add pays for terms.
        PrimaryKeyConstraint("user_id", "term", "n", postgresql_include=["count", "length"]),
        {"comment": "Which memory holds which term: one row for each"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    term: Mapped[str] = mapped_column(Id, comment="A stem, a number, a character pair; or # and a hash")
    n: Mapped[int] = mapped_column(comment="The memory that holds it")
    count: Mapped[int] = mapped_column(SmallInteger, comment="How often it stands there")
    length: Mapped[int] = mapped_column(Integer, comment="Terms of that memory, repeats counted")


class Spelling(Base):
    """One way to write, or to misspell, a word of the log."""

    __tablename__ = "spellings"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "key", "missing", "term"),
        {"comment": "How the words of a log may be misspelt: finds the term that a typing error meant"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    key: Mapped[str] = mapped_column(Id, comment="A word of the log, or one less one letter")
    missing: Mapped[int] = mapped_column(SmallInteger, comment="Letters that the key lacks: 0 or 1")
    term: Mapped[str] = mapped_column(Id, comment="The word's term")


class EmbeddingIdentityRow(Base):
    """What the stored vectors mean; at most one row."""

    __tablename__ = "embedding_identity"
    __table_args__ = (
        CheckConstraint("only_row", name="only_row"),
        {"comment": "What the stored vectors mean: a server with another identity refuses to start"},
    )
    only_row: Mapped[bool] = mapped_column(Boolean, primary_key=True, server_default="true", comment="Always true")
    backend: Mapped[str] = mapped_column(comment="static, openai or fastembed")
    model: Mapped[str] = mapped_column(comment="The model's name")
    dimensions: Mapped[int] = mapped_column(Integer, comment="Dimensions the model returns, before padding")
    endpoint: Mapped[str] = mapped_column(comment="Base URL of the provider; empty for a local one")
    preprocessing: Mapped[int] = mapped_column(Integer, comment="Version of rendering, segmentation and pooling")
    recorded_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="First start")
