"""Between values and rows: the parameters of the hot statements, and what they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from pgrecall.coded import coded
from pgrecall.derived import Derived, derive, derived_parameters, int2
from pgrecall.ids import stored_id
from pgrecall.memory import (
    DENSE_ONLY,
    Addition,
    Caps,
    Extraction,
    FoundMemory,
    Kind,
    Question,
    Selection,
    StoredState,
    Vectors,
    memory_id,
)
from pgrecall.rendering import estimate_tokens, line, line_key
from pgrecall.stating import Told, state_parameters, told_by_facts, told_by_patterns
from pgrecall.temporal.expressions import Grain, TimeExpression
from pgrecall.versions.statements import Statement

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
    fact_dates = [messages[f.sources[0]].occurred_at for f in facts]
    fact_lines = [line(moment, None, f.content) for moment, f in zip(fact_dates, facts, strict=True)]
    said = [derive(m.occurred_at, m.speaker, m.content) for m in messages]
    drawn = [derive(moment, None, f.content) for moment, f in zip(fact_dates, facts, strict=True)]
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
        "utc_offsets": [int2(utc_offset(m.occurred_at)) for m in messages],
        "line_keys": [line_key(text) for text in lines],
        "characters": [len(text) for text in lines],
        "tokens": [estimate_tokens(text) for text in lines],
        "gloss_characters": [one.gloss_characters for one in said],
        "gloss_tokens": [one.gloss_tokens for one in said],
        "embeddings": _halfvecs(addition.message_vectors),
        "fact_count": len(facts),
        "fact_ids": _ids(addition, Kind.FACT, len(facts)),
        "fact_contents": [f.content for f in facts],
        "fact_sources": ["{" + ",".join(map(str, f.sources)) + "}" for f in facts],
        "fact_line_keys": [line_key(text) for text in fact_lines],
        "fact_characters": [len(text) for text in fact_lines],
        "fact_tokens": [estimate_tokens(text) for text in fact_lines],
        "fact_gloss_characters": [one.gloss_characters for one in drawn],
        "fact_gloss_tokens": [one.gloss_tokens for one in drawn],
        "fact_embeddings": _halfvecs(addition.fact_vectors),
        "prompt_version": addition.prompt_version,
        "language_model": addition.language_model,
        **derived_parameters(said + drawn),
        **state_parameters(told_by(addition)),
    }


def told_by(addition: Addition) -> list[Told]:
    """The states that its memories tell: a model's facts, where it drew any; else what patterns read."""
    if addition.extraction is Extraction.DONE:
        return told_by_facts(addition.messages, addition.facts)
    return [
        one
        for place, m in enumerate(addition.messages)
        for one in told_by_patterns(place, m.role, m.speaker, m.content)
    ]


def utc_offset(moment: datetime | None) -> int:
    """Minutes that the clock which `moment` bears is ahead of UTC."""
    offset = None if moment is None else moment.utcoffset()
    return 0 if offset is None else round(offset.total_seconds() / 60)


def by_clock(moment: datetime | None, offset: int) -> datetime | None:
    """A stored moment, in UTC, by the clock of its speaker."""
    return moment if moment is None or not offset else moment.astimezone(timezone(timedelta(minutes=offset)))


def analysis_parameters(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What sql/reanalyse.sql is given for rows of sql/texts.sql, at least one."""
    return {"since": rows[0][0], "until": rows[-1][1] + 1, **stored_parameters([row[1:] for row in rows])}


def stored_parameters(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Numbers of memories, and what is derived of them: of rows (n, occurred_at, utc_offset, role, speaker,
    content)."""
    memories: list[Derived] = [
        derive(by_clock(occurred_at, offset), speaker, content)
        for _, occurred_at, offset, _, speaker, content in rows
    ]
    told = [
        one
        for place, (_, _, _, role, speaker, content) in enumerate(rows)
        for one in told_by_patterns(place, role, speaker, content)
    ]
    return {
        "ns": [row[0] for row in rows],
        "lengths": [one.analysis.length for one in memories],
        "gloss_characters": [one.gloss_characters for one in memories],
        "gloss_tokens": [one.gloss_tokens for one in memories],
        **derived_parameters(memories),
        **state_parameters(told),
    }


def selection_parameters(selection: Selection, audit_id: UUID) -> dict[str, Any]:
    """What sql/forget.sql, forgotten.sql and restore.sql are given of a selection."""
    return {
        "ids": None if selection.ids is None else list(selection.ids),
        "session_id": None if selection.session_id is None else stored_id(selection.session_id)[0],
        "since": selection.since,
        "until": selection.until,
        "selected_by": selection.named,
        "audit_id": audit_id,
    }


def search_parameters(key: str, question: Question, top_k: int, caps: Caps) -> dict[str, Any]:
    """What sql/search.sql is given for the user with this stored key."""
    memories = min(top_k, caps.return_limit)
    asked, weights, newest_first = question.terms, caps.weights, question.newest_first
    if question.first is None and not asked:  # then distance is age
        weights, newest_first = DENSE_ONLY, True
    elif question.first is None:
        weights = replace(weights, dense=0.0)
    keys = [(place, key, lacks) for place, one in enumerate(asked, start=1) for key, lacks in one.keys]
    return {
        "terms": [one.term for one in asked],
        "weights": [one.weight for one in asked],
        "key_places": [place for place, _, _ in keys],
        "keys": [key for _, key, _ in keys],
        "missings": [int2(lacks) for _, _, lacks in keys],
        **asdict(weights),
        "first_days": [first for first, _ in question.times],
        "last_days": [last for _, last in question.times],
        "variety": caps.variety,
        "ties": -1 if newest_first else 1,
        "candidates": caps.candidates,
        **_asked_vectors(key, question),
        "hits": HITS_PER_MEMORY * memories,
        "radius": caps.window_radius,
        "memories": memories,
        "characters": caps.return_char_budget,
        "tokens": caps.return_token_budget or NO_BOUND,
        "raw_first": caps.raw_first,
        "glossed": caps.glossed,
        "withheld": list(question.withheld),
        "tagged": caps.tagged,
    }


def _asked_vectors(key: str, question: Question) -> dict[str, HalfVector | None]:
    """Each as it is, and with the code of the user."""
    given = {"query": question.first, "second": question.second}
    return {name: None if vector is None else HalfVector(vector) for name, vector in given.items()} | {
        name: None if vector is None else HalfVector(coded(vector, key))
        for name, vector in {"coded": question.first, "second_coded": question.second}.items()
    }


def found(row: Sequence[Any]) -> FoundMemory:
    """One row of sql/search.sql."""
    kind, id_, speaker, content, occurred_at, offset, score, dates, n = row
    said = tuple(
        TimeExpression(surface, place, Grain(grain), date.fromisoformat(first), date.fromisoformat(last), rule)
        for place, surface, grain, first, last, rule in dates or ()
    )
    return FoundMemory(id_, Kind(kind), speaker, content, by_clock(occurred_at, offset), float(score), said, n=n)


def stored_state(row: Sequence[Any]) -> StoredState:
    """One row of sql/chains.sql."""
    n, subject, attribute, value, relative, closes, alone, occurred_at, offset, id_, speaker, content = row
    statement = Statement(subject, attribute, value, relative, closes)
    return StoredState(n, statement, alone, by_clock(occurred_at, offset), id_, speaker, content)


def _ids(addition: Addition, kind: Kind, count: int) -> list[Any]:
    return [memory_id(addition.user_id, addition.request_id, kind, place) for place in range(count)]


def _halfvecs(vectors: Vectors) -> list[HalfVector]:
    return [HalfVector(vector) for vector in vectors]
