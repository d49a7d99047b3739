"""What is derived from memories: terms, spellings, states, dates, vectors of large logs."""

from __future__ import annotations

from datetime import date
from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import ARRAY, Boolean, Date, Index, Integer, PrimaryKeyConstraint, SmallInteger, Text
from sqlalchemy.orm import Mapped, mapped_column

from pgrecall.memory import CODED_DIMENSIONS
from pgrecall.models.base import Base, Id


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
    words: Mapped[list[str] | None] = mapped_column(
        ARRAY(Text), comment="The words of that memory whose spellings bring this term; NULL: the term itself"
    )


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


class State(Base):
    """One state that a memory tells."""

    __tablename__ = "states"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n", "place"),
        Index("states_user_id_subject_key_attribute_idx", "user_id", "subject_key", "attribute"),
        {
            "comment": "States that memories tell: what is current, and what replaced what, follows from when each "
            "was said"
        },
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    n: Mapped[int] = mapped_column(comment="The memory that tells it")
    place: Mapped[int] = mapped_column(SmallInteger, comment="Among the states that it tells, from 0")
    subject_key: Mapped[str] = mapped_column(Id, comment="Whose state it is, folded: owner, sister, nora")
    attribute: Mapped[str] = mapped_column(Id, comment="Of the registry: residence, phone")
    value: Mapped[str | None] = mapped_column(comment="As told; NULL: none follows the one that ends")
    relative: Mapped[bool] = mapped_column(Boolean, comment="Told relative to the value before: one more")
    closes: Mapped[bool] = mapped_column(Boolean, comment="The state ends, and none follows")
    drawn: Mapped[bool] = mapped_column(Boolean, comment="By a language model; false: by patterns")
    alone: Mapped[bool] = mapped_column(
        Boolean, comment="The memory says nothing else that is worth keeping when this is replaced"
    )


class DateSaid(Base):
    """One date that a memory says in words."""

    __tablename__ = "dates"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n", "place"),
        {"comment": "Dates said in words, resolved against the time of their memory: one row for each"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    n: Mapped[int] = mapped_column(comment="The memory that says it")
    place: Mapped[int] = mapped_column(Integer, comment="Characters of its content before it")
    surface: Mapped[str] = mapped_column(comment="The words that say it")
    grain: Mapped[str] = mapped_column(
        comment="How exact the words are: day, week, weekend, month, season, quarter, year, span"
    )
    first_day: Mapped[date] = mapped_column(Date, comment="First day meant, by the speaker's clock")
    last_day: Mapped[date] = mapped_column(Date, comment="Last day meant")
    rule: Mapped[str] = mapped_column(comment="The rule that resolved it")


class LargeVector(Base):
    """The vector of one memory of a large log."""

    __tablename__ = "large_vectors"
    __table_args__ = (
        # n first: an index that leads with user_id would tempt the planner away from the vectors' own.
        PrimaryKeyConstraint("n", "user_id"),
        Index(
            "large_vectors_coded_idx", "coded", postgresql_using="hnsw", postgresql_ops={"coded": "halfvec_ip_ops"}
        ),
        {"comment": "Vectors of users with many memories, for the one index over them all"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    n: Mapped[int] = mapped_column(comment="The memory")
    coded: Mapped[Any] = mapped_column(HALFVEC(CODED_DIMENSIONS), comment="Its vector, then the code of its user")
