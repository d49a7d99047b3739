"""A line of an export: the body of an Add, and what else the store knows of that request.

    {"pgrecall": 1, "request_id": ..., "user_id": ..., "session_id": ...,
     "messages": [{"role", "name", "content", "timestamp", "position"}, ...],
     "digest", "received_at", "message_count", "fact_count", "extraction", ...}

The fields that /add reads mean there what they mean here. Erased memories have left their places: `message_count`
and `position` keep them, so that the ids of the others, and what is a repeat, stay what they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from pgrecall.contract.ids import Id
from pgrecall.contract.json_body import read, shallow
from pgrecall.errors import InvalidRequest
from pgrecall.memory import Extraction, Fact, Message
from pgrecall.versions.statements import Statement

FORMAT = 1
"""Version of the lines. Raise it with any change after which an older pgrecall would read a line wrongly."""

Place = Annotated[int, Field(ge=0, lt=2**31)]


class Shape(BaseModel):
    """Strict where the contract is lenient: a line was written by an export, not by hand."""

    model_config = ConfigDict(hide_input_in_errors=True, extra="forbid", frozen=True)


class StateLine(Shape):
    """A state that a language model keyed; those that patterns read are read anew."""

    subject: str
    attribute: str
    value: str | None = None
    relative: bool = False
    closes: bool = False
    alone: bool = False


class MessageLine(Shape):
    """`timestamp` is absent where the message was sent undated; `occurred_at` is then what it was taken to be."""

    role: str
    name: str
    content: str
    position: Place
    timestamp: AwareDatetime | None = None
    occurred_at: AwareDatetime | None = None
    hidden_by: UUID | None = None
    states: tuple[StateLine, ...] = ()

    @property
    def message(self) -> Message:
        return Message(
            self.role, self.name, self.content, self.timestamp or self.occurred_at, self.timestamp is not None
        )


class FactLine(Shape):
    """`sources`: positions of the messages that it rests on."""

    content: str
    position: Place
    sources: tuple[Place, ...] = Field(min_length=1)
    hidden_by: UUID | None = None
    asked: bool = False
    states: tuple[StateLine, ...] = ()


class RequestLine(Shape):
    """One request."""

    pgrecall: Literal[1]
    request_id: Id
    user_id: Id
    session_id: Id
    messages: tuple[MessageLine, ...]
    facts: tuple[FactLine, ...] = ()
    digest: Annotated[
        bytes, BeforeValidator(lambda value: bytes.fromhex(value)), Field(min_length=32, max_length=32)
    ]
    received_at: AwareDatetime
    message_count: Place
    fact_count: Place = 0
    extraction: Extraction
    extraction_reason: str | None = None
    language_model: str = ""
    prompt_version: Place = 0


class AuditLine(Shape):
    """One forgetting or restoring."""

    audit_id: UUID
    done_at: AwareDatetime
    action: Literal["forget", "erase", "restore"]
    selected_by: tuple[str, ...]
    messages: Place
    facts: Place


class UserLine(Shape):
    """What was forgotten of a user's memories, and when: after the user's requests."""

    pgrecall: Literal[1]
    user_id: Id
    audit: AuditLine


@dataclass(frozen=True, slots=True)
class Carried:
    """What of a request is not told by an Addition. Of a body nothing is forgotten, and places have no gaps."""

    message_positions: tuple[int, ...]
    fact_positions: tuple[int, ...]
    message_count: int
    fact_count: int
    received_at: datetime | None = None
    hidden_messages: tuple[UUID | None, ...] = ()
    hidden_facts: tuple[tuple[UUID, bool] | None, ...] = ()
    states: tuple[tuple[int, Statement, bool], ...] | None = None
    """Place of the memory, what it tells, `alone`. None: told anew, by the facts or by patterns."""

    @classmethod
    def whole(cls, messages: int, facts: int) -> Carried:
        """Of an Add of so many."""
        return cls(tuple(range(messages)), tuple(range(facts)), messages, facts)


def is_exported(payload: object) -> bool:
    return isinstance(payload, dict) and "pgrecall" in payload


def read_exported(payload: dict[str, Any]) -> RequestLine | UserLine:
    """Raises InvalidRequest."""
    if payload["pgrecall"] != FORMAT:
        raise InvalidRequest(f"the line is of another version of exports; this one reads {FORMAT}")
    with shallow():
        if "audit" in payload:
            return read(UserLine, payload)
        line = read(RequestLine, payload)
    _check(line)
    return line


def _check(line: RequestLine) -> None:
    """Places are in order and within the counts, and each fact rests on messages that are there."""
    for of, count in ((line.messages, line.message_count), (line.facts, line.fact_count)):
        positions = [one.position for one in of]
        if positions != sorted(set(positions)) or (positions and positions[-1] >= count):
            raise InvalidRequest("the positions are not ascending, or beyond the count")
    there = {one.position for one in line.messages}
    if any(not there.issuperset(fact.sources) for fact in line.facts):
        raise InvalidRequest("a fact rests on a message that is not there")


def facts_of(line: RequestLine) -> tuple[Fact, ...]:
    """Their sources as places among the messages that are there."""
    places = {one.position: place for place, one in enumerate(line.messages)}
    return tuple(Fact(fact.content, tuple(places[one] for one in fact.sources)) for fact in line.facts)


def carried(line: RequestLine) -> Carried:
    """What of the line is not told by its Addition."""
    memories: list[MessageLine | FactLine] = [*line.messages, *line.facts]
    return Carried(
        tuple(one.position for one in line.messages),
        tuple(one.position for one in line.facts),
        line.message_count,
        line.fact_count,
        line.received_at,
        tuple(one.hidden_by for one in line.messages),
        tuple(None if one.hidden_by is None else (one.hidden_by, one.asked) for one in line.facts),
        tuple(
            (place, Statement(one.subject, one.attribute, one.value, one.relative, one.closes), one.alone)
            for place, memory in enumerate(memories)
            for one in memory.states
        )
        if line.extraction is Extraction.DONE
        else None,
    )
