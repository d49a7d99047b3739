"""A body as it was read: one request that may be stored, or is there already."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

import numpy as np

from pgrecall.bulk.carried import Carried, RequestLine, UserLine, carried, facts_of, is_exported, read_exported
from pgrecall.bulk.reading import Body
from pgrecall.contract import parse_json, read_add
from pgrecall.drawing import Outcome
from pgrecall.ids import stored_id
from pgrecall.memory import DIMENSIONS, Addition, Extraction, Message


@dataclass(frozen=True, slots=True)
class Coming:
    """One request as it was read, without vectors; `outcome` None: facts are still to be drawn."""

    line: int
    addition: Addition
    carried: Carried
    outcome: Outcome | None

    @property
    def key(self) -> tuple[str, str]:
        return stored_id(self.addition.user_id)[0], stored_id(self.addition.request_id)[0]


def read(body: Body, zone: tzinfo) -> Coming | UserLine:
    """The request, or what an export tells of a user beside requests; `zone`: of a body that names none. Raises
    InvalidRequest."""
    payload = parse_json(body.data)
    if not is_exported(payload):
        call = read_add(payload, zone)
        addition = _addition(call.user_id, call.request_id, call.session_id, call.body_digest, call.messages)
        return Coming(body.line, addition, Carried.whole(len(call.messages), 0), None)
    assert isinstance(payload, dict)
    exported = read_exported(payload)
    return exported if isinstance(exported, UserLine) else _of_export(body.line, exported)


def _of_export(number: int, exported: RequestLine) -> Coming:
    addition = _addition(
        exported.user_id,
        exported.request_id,
        exported.session_id,
        exported.digest,
        tuple(one.message for one in exported.messages),
        exported.prompt_version,
        exported.language_model,
    )
    outcome = Outcome(facts_of(exported), exported.extraction, exported.extraction_reason)
    return Coming(number, addition, carried(exported), outcome)


def _addition(
    user_id: str,
    request_id: str,
    session_id: str,
    digest: bytes,
    messages: tuple[Message, ...],
    prompt_version: int = 0,
    language_model: str = "",
) -> Addition:
    nothing = np.zeros((0, DIMENSIONS), np.float32)
    return Addition(
        user_id, request_id, session_id, digest, messages, nothing, (), nothing, Extraction.OFF, None,
        prompt_version, language_model,
    )  # fmt: skip
