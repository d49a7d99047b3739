"""POST /add: what was said, as it comes and as it is understood."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from pgrecall.contract.cleaning import clean, is_blank, single_line
from pgrecall.contract.content import calls_text, text_of
from pgrecall.contract.ids import Id
from pgrecall.contract.json_body import canonical_json, read, shallow
from pgrecall.contract.speakers import speaker_of
from pgrecall.contract.timestamps import read_timestamp
from pgrecall.contract.zones import local, zone_of
from pgrecall.memory import Message

DIGESTED = ("role", "content", "name", "timestamp", "tool_calls", "function_call")


@dataclass(frozen=True, slots=True)
class AddCall:
    """One Add, understood. `messages` holds those that say something, in order; it may be empty."""

    request_id: str
    user_id: str
    session_id: str
    messages: tuple[Message, ...]
    body_digest: bytes
    """SHA-256 of the recognised fields as sent: tells a repeat from another body."""


def _read_zone(value: object) -> tzinfo | None:
    return zone_of(value) if isinstance(value, str) else None


def _read_role(value: object) -> str:
    role = single_line(text_of(value))
    return "user" if is_blank(role) else role


class MessageRequest(BaseModel):
    """One message as it comes."""

    model_config = ConfigDict(hide_input_in_errors=True)

    role: Annotated[
        str,
        PlainValidator(_read_role),
        WithJsonSchema({"type": "string", "description": "user, assistant or any other."}),
    ] = "user"
    content: Annotated[
        str,
        PlainValidator(text_of),
        WithJsonSchema(
            {
                "description": "Text; or a list of parts, whose text is joined (an image becomes `[image: "
                "alt]`, never its bytes). Null, blank: skipped, unless there are tool calls. Any other value "
                "is kept as JSON. A label at its head (`Caroline: ...`) names the speaker."
            }
        ),
    ] = ""
    name: Annotated[object, WithJsonSchema({"description": "The speaker's name, where content has no label."})] = (
        None
    )
    timestamp: Annotated[
        datetime | None,
        PlainValidator(read_timestamp),
        WithJsonSchema(
            {
                "description": "When it was said: Unix milliseconds, up to the year 9999. Seconds, micro- "
                "and nanoseconds are told by size; ISO 8601, RFC 2822 and common forms are read as text, UTC "
                "where no offset is said. Anything else: undated, then the time of the message before it."
            }
        ),
    ] = None
    tool_calls: Annotated[
        str, PlainValidator(calls_text), WithJsonSchema({"description": "Kept as `name(arguments)`."})
    ] = ""
    function_call: Annotated[
        str, PlainValidator(calls_text), WithJsonSchema({"description": "As tool_calls, one call."})
    ] = ""

    @property
    def text(self) -> str:
        """What is kept: verbatim but for cleaning; calls after the text they came with."""
        said = map(clean, (self.content, self.tool_calls, self.function_call))
        return "\n".join(text for text in said if not is_blank(text))


def _entries(value: object) -> list[object]:
    """The messages as sent; one that came without its list as a list of one."""
    return value if isinstance(value, list) else [value]


def _fields(entry: object) -> dict[str, object]:
    """The fields of one entry; what is no object is the content of a user's message."""
    return entry if isinstance(entry, dict) else {"content": entry}


def _read_messages(value: object) -> tuple[Message, ...]:
    if not isinstance(value, list | dict | str) or not value:
        raise PydanticCustomError("messages", "must be a list with at least one message")
    requests = [MessageRequest.model_validate(_fields(entry)) for entry in _entries(value)]
    kept = [(request, text) for request in requests if not is_blank(text := request.text)]
    moments = _fill([request.timestamp for request, _ in kept])
    return tuple(
        Message(
            role=request.role,
            speaker=speaker_of(request.role, request.name, text),
            content=text,
            occurred_at=moment,
            dated=request.timestamp is not None,
        )
        for (request, text), moment in zip(kept, moments, strict=True)
    )


def _fill(moments: Sequence[datetime | None]) -> list[datetime | None]:
    """Each None becomes the moment before it, at the start the first one after it."""
    last = next((moment for moment in moments if moment is not None), None)
    filled = []
    for moment in moments:
        last = moment or last
        filled.append(last)
    return filled


class AddRequest(BaseModel):
    """What was said, in order. Answered only once it is durable and searchable; safe to repeat."""

    model_config = ConfigDict(
        hide_input_in_errors=True,
        json_schema_extra={
            "examples": [
                {
                    "request_id": "r-1",
                    "user_id": "u-1",
                    "session_id": "s-1",
                    "messages": [
                        {
                            "role": "user",
                            "content": "I adopted a greyhound called Pixel yesterday.",
                            "timestamp": 1684591200000,
                        },
                        {"role": "assistant", "content": "Congratulations!", "timestamp": 1684591260000},
                    ],
                }
            ]
        },
    )

    request_id: Id
    user_id: Id
    session_id: Id
    messages: Annotated[
        tuple[Message, ...],
        PlainValidator(_read_messages),
        WithJsonSchema({"type": "array", "minItems": 1, "items": MessageRequest.model_json_schema()}),
    ] = Field(description="In order. A single message may come without its list, a string as its content.")
    timezone: Annotated[
        tzinfo | None,
        PlainValidator(_read_zone),
        WithJsonSchema(
            {
                "type": "string",
                "description": "The clock of those who speak: `Europe/Berlin`, `+02:00`. Lines show it, and "
                '"yesterday" is meant by it. Else the offset in a timestamp counts, else the server\'s setting.',
            }
        ),
    ] = None


def read_add(payload: object, zone: tzinfo = UTC) -> AddCall:
    """The call that `payload` makes; `zone`: where nothing in it says the speakers'. Raises InvalidRequest."""
    request = read(AddRequest, payload)
    assert isinstance(payload, dict)
    with shallow():
        digest = _digest(request.session_id, payload["messages"], payload.get("timezone"))
    messages = tuple(
        replace(m, occurred_at=m.occurred_at and local(m.occurred_at, request.timezone, zone))
        for m in request.messages
    )
    return AddCall(request.request_id, request.user_id, request.session_id, messages, digest)


def _digest(session_id: str, messages: object, timezone: object) -> bytes:
    """Of raw values, not understood ones: a later version that reads more still knows a repeat. A field that is
    not sent leaves the digest what it was before there was such a field."""
    fields = [_fields(entry) for entry in _entries(messages)]
    sent = [[entry.get(name) for name in DIGESTED] for entry in fields]
    added = [] if timezone is None else [timezone]
    return hashlib.sha256(canonical_json([session_id, sent, *added])).digest()
