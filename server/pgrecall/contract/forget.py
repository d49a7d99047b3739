"""POST /forget and POST /restore: which memories, as it comes and as it is understood.

Read strictly: what a server guesses to be meant here is gone, or seen again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from pgrecall.contract.ids import Id
from pgrecall.contract.json_body import read
from pgrecall.contract.moments import moment
from pgrecall.errors import InvalidRequest
from pgrecall.memory import Selection

_MOMENT = {
    "description": "Unix milliseconds or ISO 8601, as a message's timestamp. What was said at an unknown time is "
    "in no range."
}


def _read_ids(value: object) -> tuple[UUID, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise PydanticCustomError("ids", "must be a list of ids, as /search gives them")
    return tuple(known for one in value if (known := _uuid(one)) is not None)


def _uuid(text: str) -> UUID | None:
    """None for what is no id of a memory: it names nothing that could be forgotten."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _read_forget_id(value: object) -> UUID | None:
    if value is None:
        return None
    if not isinstance(value, str) or (known := _uuid(value)) is None:
        raise PydanticCustomError("forget_id", "must be the forget_id of an answer of /forget")
    return known


def _read_flag(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise PydanticCustomError("erase", "must be true or false")


class SelectionRequest(BaseModel):
    """Which memories of one user. Of several fields each must hold; one at least must be named. A field that is not
    known is refused: misspelt, it would have forgotten more than was meant."""

    model_config = ConfigDict(hide_input_in_errors=True, extra="forbid")

    user_id: Id
    ids: Annotated[
        tuple[UUID, ...] | None,
        PlainValidator(_read_ids),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of memories, as /search gives them. An id that this user has not names none.",
            }
        ),
    ] = None
    session_id: Id | None = Field(None, description="All of one session.")
    since: Annotated[datetime | None, PlainValidator(moment), WithJsonSchema(_MOMENT)] = None
    until: Annotated[datetime | None, PlainValidator(moment), WithJsonSchema(_MOMENT)] = Field(
        None, description="Said before this moment."
    )

    def selection(self, forget_id: UUID | None = None) -> Selection:
        """Raises InvalidRequest where nothing is named."""
        chosen = Selection(self.ids, self.session_id, self.since, self.until, forget_id)
        if not chosen.named:
            raise InvalidRequest("name the memories: by ids, session_id, since or until")
        return chosen


class ForgetRequest(SelectionRequest):
    """Memories that no search shall find any more."""

    model_config = ConfigDict(
        hide_input_in_errors=True,
        extra="forbid",
        json_schema_extra={"examples": [{"user_id": "u-1", "session_id": "s-1", "erase": False}]},
    )

    erase: Annotated[
        bool,
        PlainValidator(_read_flag),
        WithJsonSchema(
            {
                "type": "boolean",
                "description": "True: for good, with every fact that rests on one of them. Else they are hidden, "
                "and /restore brings them back.",
            }
        ),
    ] = False


class RestoreRequest(SelectionRequest):
    """Hidden memories that searches shall find again."""

    model_config = ConfigDict(
        hide_input_in_errors=True,
        extra="forbid",
        json_schema_extra={"examples": [{"user_id": "u-1", "session_id": "s-1"}]},
    )

    forget_id: Annotated[
        UUID | None,
        PlainValidator(_read_forget_id),
        WithJsonSchema({"type": "string", "description": "All that one /forget hid, as it answered."}),
    ] = None


@dataclass(frozen=True, slots=True)
class ForgetCall:
    """One Forget, understood."""

    user_id: str
    selection: Selection
    erase: bool


@dataclass(frozen=True, slots=True)
class RestoreCall:
    """One Restore, understood."""

    user_id: str
    selection: Selection


def read_forget(payload: object) -> ForgetCall:
    """The call that `payload` makes. Raises InvalidRequest."""
    request = read(ForgetRequest, payload)
    return ForgetCall(request.user_id, request.selection(), request.erase)


def read_restore(payload: object) -> RestoreCall:
    """The call that `payload` makes. Raises InvalidRequest."""
    request = read(RestoreRequest, payload)
    return RestoreCall(request.user_id, request.selection(request.forget_id))
