"""What was forgotten, where no search reads it, and that it was."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    func,
)
from sqlalchemy.orm import Mapped, mapped_column

from pgrecall.models.base import Base, Id
from pgrecall.models.log import FactColumns, MessageColumns


class ForgottenMessage(MessageColumns, Base):
    """A message that its user had forgotten, and may restore."""

    __tablename__ = "forgotten_messages"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n"),
        ForeignKeyConstraint(["user_id", "request_id"], ["requests.user_id", "requests.request_id"]),
        {"comment": "Messages that are forgotten and not erased: no search reads them"},
    )
    audit_id: Mapped[UUID] = mapped_column(comment="The forgetting that took it out of messages")


class ForgottenFact(FactColumns, Base):
    """A fact that was forgotten by its own id, or has no message left that it rests on."""

    __tablename__ = "forgotten_facts"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "n"),
        ForeignKeyConstraint(["user_id", "request_id"], ["requests.user_id", "requests.request_id"]),
        {"comment": "Facts that are forgotten and not erased: no search reads them"},
    )
    audit_id: Mapped[UUID] = mapped_column(comment="The forgetting that took it out of facts")
    asked: Mapped[bool] = mapped_column(
        Boolean, comment="Forgotten by its own id; false: with the last message that it rested on"
    )


class Audit(Base):
    """One forgetting or restoring."""

    __tablename__ = "audit"
    __table_args__ = (
        PrimaryKeyConstraint("user_id", "audit_id"),
        CheckConstraint("action IN ('forget', 'erase', 'restore')", name="action"),
        {"comment": "Who had what forgotten, erased or restored, and when; never what was said"},
    )
    user_id: Mapped[str] = mapped_column(Id, comment="Whose log it is")
    audit_id: Mapped[UUID] = mapped_column(comment="Of this row; restores what this forgetting hid")
    done_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="When it was done")
    action: Mapped[str] = mapped_column(comment="forget, erase or restore")
    selected_by: Mapped[list[str]] = mapped_column(ARRAY(Text), comment="What the call named: ids, session_id, ...")
    messages: Mapped[int] = mapped_column(Integer, comment="Messages forgotten, erased or restored")
    facts: Mapped[int] = mapped_column(Integer, comment="Facts forgotten, erased or restored")
