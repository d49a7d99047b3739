"""Between values and rows: the parameters of the hot statements, and what they return."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pgvector import HalfVector

from pgrecall.ids import stored_id
from pgrecall.memory import Addition, Caps, FoundMemory, Kind, Vector, Vectors, memory_id
from pgrecall.rendering import estimate_tokens, line, line_key

HITS_PER_MEMORY = 3
"""Hits walked for each memory asked for: neighbours of the best 3 x top_k are enough (DESIGN.md, Bound the
walk: unbounded it cost 8 to 12 times the plain scan, bounded 1.4 to 2)."""

NO_BOUND = 2**62


def addition_parameters(addition: Addition) -> dict[str, Any]:
    """What sql/add.sql is given, but for the user's key, which the store adds to every statement."""
    _, original_user_id = stored_id(addition.user_id)
    session_id, original_session_id = stored_id(addition.session_id)
    request_id, original_request_id = stored_id(addition.request_id)
    messages, facts = addition.messages, addition.facts
    lines = [line(m.occurred_at, m.speaker, m.content) for m in messages]
    fact_lines = [line(messages[f.sources[0]].occurred_at, None, f.content) for f in facts]
    return {
        "original_user_id": original_user_id,
        "session_id": session_id,
        "original_session_id": original_session_id,
        "request_id": request_id,
        "original_request_id": original_request_id,
        "body_digest": addition.body_digest,
        "extraction": addition.extraction.value,
        "extraction_reason": addition.extraction_reason,
        "message_count": len(messages),
        "message_ids": _ids(addition, Kind.MESSAGE, len(messages)),
        "roles": [m.role for m in messages],
        "speakers": [m.speaker for m in messages],
        "contents": [m.content for m in messages],
        "occurred_ats": [m.occurred_at for m in messages],
        "dateds": [m.dated for m in messages],
        "line_keys": [line_key(text) for text in lines],
        "characters": [len(text) for text in lines],
        "tokens": [estimate_tokens(text) for text in lines],
        "embeddings": _halfvecs(addition.message_vectors),
        "fact_count": len(facts),
        "fact_ids": _ids(addition, Kind.FACT, len(facts)),
        "fact_contents": [f.content for f in facts],
        "fact_sources": ["{" + ",".join(map(str, f.sources)) + "}" for f in facts],
        "fact_line_keys": [line_key(text) for text in fact_lines],
        "fact_characters": [len(text) for text in fact_lines],
        "fact_tokens": [estimate_tokens(text) for text in fact_lines],
        "fact_embeddings": _halfvecs(addition.fact_vectors),
        "prompt_version": addition.prompt_version,
        "language_model": addition.language_model,
    }


def search_parameters(query: Vector | None, second: Vector | None, top_k: int, caps: Caps) -> dict[str, Any]:
    """What sql/search.sql is given. `query` None: the newest memories."""
    memories = min(top_k, caps.return_limit)
    return {
        "query": None if query is None else HalfVector(query),
        "second": None if second is None else HalfVector(second),
        "hits": HITS_PER_MEMORY * memories,
        "radius": caps.window_radius,
        "memories": memories,
        "characters": caps.return_char_budget,
        "tokens": caps.return_token_budget or NO_BOUND,
        "raw_first": caps.raw_first,
    }


def found(row: Sequence[Any]) -> FoundMemory:
    """One row of sql/search.sql."""
    kind, id_, speaker, content, occurred_at, score = row
    assert occurred_at is None or isinstance(occurred_at, datetime)
    return FoundMemory(id_, Kind(kind), speaker, content, occurred_at, float(score))


def _ids(addition: Addition, kind: Kind, count: int) -> list[Any]:
    return [memory_id(addition.user_id, addition.request_id, kind, place) for place in range(count)]


def _halfvecs(vectors: Vectors) -> list[HalfVector]:
    return [HalfVector(vector) for vector in vectors]
