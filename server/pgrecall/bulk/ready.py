"""One request as rows that wait for nothing but their numbers."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any
from uuid import UUID

import numpy as np

from pgrecall.bulk.carried import Carried
from pgrecall.derived import derive, derived_parameters
from pgrecall.ids import stored_id
from pgrecall.memory import DIMENSIONS, Addition, Kind, Vectors, memory_id
from pgrecall.rows import addition_parameters
from pgrecall.stating import Told, state_parameters

MESSAGE = {
    "id": "message_ids",
    "role": "roles",
    "speaker": "speakers",
    "content": "contents",
    "occurred_at": "occurred_ats",
    "dated": "dateds",
    "utc_offset": "utc_offsets",
    "line_key": "line_keys",
    "characters": "characters",
    "tokens": "tokens",
    "gloss_characters": "gloss_characters",
    "gloss_tokens": "gloss_tokens",
    "embedding": "embeddings",
}
"""Columns, and the parameters of sql/add.sql that hold them."""
FACT = {
    "id": "fact_ids",
    "content": "fact_contents",
    "line_key": "fact_line_keys",
    "characters": "fact_characters",
    "tokens": "fact_tokens",
    "gloss_characters": "fact_gloss_characters",
    "gloss_tokens": "fact_gloss_tokens",
    "embedding": "fact_embeddings",
}
TERM = ("term_places", "terms", "term_counts", "term_lengths", "term_words")
DATE = ("date_memories", "date_places", "date_surfaces", "date_grains", "first_days", "last_days", "date_rules")
STATE = (
    "state_memories", "state_places", "subject_keys", "attributes", "state_values", "relatives", "closings",
    "drawns", "alones",
)  # fmt: skip

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """`head`: what sql/import.sql is given of it, but for the keys. Rows of `messages`: position, the forgetting
    that hid it (or None), columns of MESSAGE; of `facts`: position, the same with whether it was asked for,
    positions of its sources, time and offset, columns of FACT; of the others: how far the memory's number is from
    the request's first, and the columns. Vectors are bytes as the database takes them."""

    line: int
    user_id: str
    request_id: str
    session_id: str
    body_digest: bytes
    message_count: int
    head: Row
    messages: list[Row]
    facts: list[Row]
    drawn_by: tuple[str, int]
    terms: list[Row]
    dates: list[Row]
    states: list[Row]
    words: list[tuple[str, str]]


def ready(line: int, addition: Addition, carried: Carried) -> Ready:
    """All that can be known before the numbers are drawn; most of the work of an import."""
    # Their vectors all at once, below: one by one they took 10 us each.
    nothing = np.zeros((0, DIMENSIONS), np.float32)
    parameters = addition_parameters(replace(addition, message_vectors=nothing, fact_vectors=nothing))
    offsets = [*carried.message_positions, *(carried.message_count + one for one in carried.fact_positions)]
    hidden = [*carried.hidden_messages, *carried.hidden_facts] or [None] * len(offsets)
    visible = [place for place, by in enumerate(hidden) if by is None]
    if len(visible) < len(offsets):
        parameters |= _derived(addition, visible)
    if carried.states is not None:
        told = [Told(place, statement, True, alone) for place, statement, alone in carried.states]
        parameters |= state_parameters(told)
    return Ready(
        line,
        stored_id(addition.user_id)[0],
        parameters["request_id"],
        parameters["session_id"],
        addition.body_digest,
        carried.message_count,
        _head(addition, carried, parameters, visible),
        _messages(addition, carried, parameters),
        _facts(addition, carried, parameters),
        (addition.language_model, addition.prompt_version),
        _rows(parameters, TERM, [offsets[place] for place in visible]),
        _rows(parameters, DATE, [offsets[place] for place in visible]),
        _rows(parameters, STATE, offsets),
        list(zip(parameters["words"], parameters["word_terms"], strict=True)),
    )


def _head(addition: Addition, carried: Carried, parameters: dict[str, Any], visible: list[int]) -> Row:
    messages = sum(place < len(addition.messages) for place in visible)
    return (
        stored_id(addition.user_id)[1],
        parameters["original_request_id"],
        parameters["original_session_id"],
        carried.received_at and carried.received_at.astimezone(UTC),
        carried.message_count,
        carried.fact_count,
        addition.extraction.value,
        addition.extraction_reason,
        parameters["terms_length"],
        carried.message_count - messages,
        carried.fact_count - (len(visible) - messages),
    )


def _derived(addition: Addition, visible: list[int]) -> dict[str, Any]:
    """Terms, words and dates of those that are not hidden."""
    said = [(m.occurred_at, m.speaker, m.content) for m in addition.messages]
    drawn = [(addition.messages[f.sources[0]].occurred_at, None, f.content) for f in addition.facts]
    memories = [*said, *drawn]
    return derived_parameters([derive(*memories[place]) for place in visible])


def _messages(addition: Addition, carried: Carried, parameters: dict[str, Any]) -> list[Row]:
    said = parameters | {
        "message_ids": _ids(addition, Kind.MESSAGE, carried.message_positions, parameters["message_ids"]),
        # In UTC: a zone of its own with each moment is slow to send from process to process.
        "occurred_ats": [m.occurred_at and m.occurred_at.astimezone(UTC) for m in addition.messages],
        "utc_offsets": list(map(int, parameters["utc_offsets"])),
        "embeddings": packed(addition.message_vectors),
    }
    hidden = carried.hidden_messages or (None,) * len(carried.message_positions)
    return list(zip(carried.message_positions, hidden, *(said[name] for name in MESSAGE.values()), strict=True))


def _facts(addition: Addition, carried: Carried, parameters: dict[str, Any]) -> list[Row]:
    if not addition.facts:
        return []
    drawn = parameters | {
        "fact_ids": _ids(addition, Kind.FACT, carried.fact_positions, parameters["fact_ids"]),
        "fact_embeddings": packed(addition.fact_vectors),
    }
    hidden = carried.hidden_facts or (None,) * len(carried.fact_positions)
    sources = [[carried.message_positions[one] for one in fact.sources] for fact in addition.facts]
    dates = [addition.messages[fact.sources[0]].occurred_at for fact in addition.facts]
    moments = [moment and moment.astimezone(UTC) for moment in dates]
    offsets = [int(parameters["utc_offsets"][fact.sources[0]]) for fact in addition.facts]
    columns = (drawn[name] for name in FACT.values())
    return list(zip(carried.fact_positions, hidden, sources, moments, offsets, *columns, strict=True))


def packed(vectors: Vectors) -> list[bytes]:
    """Each as Postgres takes a halfvec: its width, two bytes of nothing, and its numbers, big end first."""
    head = struct.pack(">HH", DIMENSIONS, 0)
    numbers = vectors.astype(">f2").tobytes()
    size = 2 * DIMENSIONS
    return [head + numbers[start : start + size] for start in range(0, len(numbers), size)]


def _ids(addition: Addition, kind: Kind, positions: tuple[int, ...], whole: list[UUID]) -> list[UUID]:
    """`whole`: those of memories whose places have no gaps."""
    if positions == tuple(range(len(positions))):
        return whole
    return [memory_id(addition.user_id, addition.request_id, kind, position) for position in positions]


def _rows(parameters: dict[str, Any], names: tuple[str, ...], offsets: list[int]) -> list[Row]:
    """Rows of what is derived: the place among the memories becomes the one after the request's first number."""
    places, *columns = (parameters[name] for name in names)
    return list(zip([offsets[place] for place in places], *columns, strict=True))
