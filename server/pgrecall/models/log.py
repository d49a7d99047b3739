"""The log: users, sessions, requests, messages, facts."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Computed,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    func,
)
from sqlalchemy.orm import Mapped, mapped_column

from pgrecall.memory import DIMENSIONS, Extraction
from pgrecall.models.base import Base, Id


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
    forgotten: Mapped[int] = mapped_column(
        server_default="0", comment="Of the memories below next_n those that are forgotten"
    )
    indexed_through: Mapped[int] = mapped_column(
        server_default="0",
        comment="Memories below this number are in large_vectors; 0: every search scans the log",
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
    forgotten: Mapped[int] = mapped_column(
        Integer, server_default="0", comment="Of its messages those that are forgotten"
    )


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


class MessageColumns:
    """Of a message, found or forgotten."""

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
    utc_offset: Mapped[int] = mapped_column(
        SmallInteger, server_default="0", comment="Minutes that the clock of who speaks is ahead of UTC"
    )
    gloss_characters: Mapped[int] = mapped_column(
        Integer, server_default="0", comment="Characters that the dates resolved in the line add to it"
    )
    gloss_tokens: Mapped[int] = mapped_column(
        Integer, server_default="0", comment="Tokens that they add, estimated from above"
    )


class Message(MessageColumns, Base):
    """What was said, verbatim."""

    __tablename__ = "messages"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n"),
        ForeignKeyConstraint(["user_id", "request_id"], ["requests.user_id", "requests.request_id"]),
        Index("messages_order_idx", "user_id", "session_id", "sort_at", "turn_index", unique=True),
        Index("messages_user_id_sort_at_idx", "user_id", "sort_at"),
        {"comment": "What was said, verbatim; the view log shows it in order"},
    )
    sort_at: Mapped[datetime] = mapped_column(
        Computed("coalesce(occurred_at, '-infinity'::timestamp with time zone)", persisted=True),
        comment="occurred_at, undated first: with turn_index the order in a session",
    )


class FactColumns:
    """Of a fact, found or forgotten."""

    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    n: Mapped[int] = mapped_column(comment="Number among this user's memories, in order of commit")
    id: Mapped[UUID] = mapped_column(comment="The id on the wire, derived from user, request and position")
    turn_index: Mapped[int] = mapped_column(Integer, comment="turn_index of the first message it rests on")
    position: Mapped[int] = mapped_column(Integer, comment="Place among its request's facts, from 0")
    characters: Mapped[int] = mapped_column(Integer, comment="Characters of the rendered line")
    tokens: Mapped[int] = mapped_column(Integer, comment="Tokens of the rendered line, estimated from above")
    prompt_version: Mapped[int] = mapped_column(SmallInteger, comment="Version of the prompt that drew it")
    occurred_at: Mapped[datetime | None] = mapped_column(comment="When its first message was said")
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
    utc_offset: Mapped[int] = mapped_column(
        SmallInteger, server_default="0", comment="Minutes that the clock of who speaks is ahead of UTC"
    )
    gloss_characters: Mapped[int] = mapped_column(
        Integer, server_default="0", comment="Characters that the dates resolved in the line add to it"
    )
    gloss_tokens: Mapped[int] = mapped_column(
        Integer, server_default="0", comment="Tokens that they add, estimated from above"
    )


class Fact(FactColumns, Base):
    """What a language model drew from a request."""

    __tablename__ = "facts"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n"),
        ForeignKeyConstraint(["user_id", "request_id"], ["requests.user_id", "requests.request_id"]),
        {"comment": "Atomic first-person facts that a language model drew from a request"},
    )
    sort_at: Mapped[datetime] = mapped_column(
        Computed("coalesce(occurred_at, '-infinity'::timestamp with time zone)", persisted=True),
        comment="occurred_at, undated first",
    )
