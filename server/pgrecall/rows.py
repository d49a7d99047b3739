"""Between values and rows: the parameters of the hot statements, and what they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from itertools import islice
from typing import Any

from pgvector import HalfVector
from psycopg.types.numeric import Int2

from pgrecall.ids import stored_id
from pgrecall.lexical.analysis import VERSION, Analysis, analyse
from pgrecall.memory import (
    DENSE_ONLY,
    Addition,
    Caps,
    FoundMemory,
    Kind,
    Question,
    Vectors,
    memory_id,
)
from pgrecall.rendering import estimate_tokens, line, line_key, spoken

HITS_PER_MEMORY = 3
"""Hits walked for each memory asked for: neighbours of the best 3 x top_k are enough (DESIGN.md, Bound the
walk: unbounded it cost 8 to 12 times the plain scan, bounded 1.4 to 2)."""

NO_BOUND = 2**62
MOST_SPELT = 1000
"""Words of one memory whose spellings are kept, some 8 rows each: a pasted book would bring a million."""
MOST_COUNTED = 2**15 - 1
"""Times that a term counts in one memory: BM25 grows no more long before."""


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
        **term_parameters([spoken(m.speaker, m.content) for m in messages] + [f.content for f in facts]),
    }


def term_parameters(texts: Sequence[str], ns: Sequence[int] | None = None) -> dict[str, Any]:
    """The terms of memories, by their numbers `ns`, or else by their place among them."""
    analysed: list[Analysis] = [analyse(text) for text in texts]
    lengths = [one.length for one in analysed]
    postings = [
        (place, term, Int2(min(count, MOST_COUNTED)), lengths[place])
        for place, one in enumerate(analysed)
        for term, count in one.terms.items()
    ]
    words = sorted({pair for one in analysed for pair in islice(one.words.items(), MOST_SPELT)})
    places = [place for place, _, _, _ in postings]
    return {
        "terms_version": VERSION,
        "terms_length": sum(lengths),
        **({"term_places": places} if ns is None else {"ns": [ns[place] for place in places]}),
        "terms": [term for _, term, _, _ in postings],
        "term_counts": [count for _, _, count, _ in postings],
        "term_lengths": [length for _, _, _, length in postings],
        "words": [word for word, _ in words],
        "word_terms": [term for _, term in words],
    }


def analysis_parameters(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What sql/reanalyse.sql is given for rows of sql/texts.sql, at least one."""
    ns = [n for _, n, _, _ in rows]
    texts = [content if speaker is None else spoken(speaker, content) for _, _, speaker, content in rows]
    return {"since": rows[0][0], "until": ns[-1] + 1, **term_parameters(texts, ns)}


def search_parameters(question: Question, top_k: int, caps: Caps) -> dict[str, Any]:
    """What sql/search.sql is given."""
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
        "missings": [Int2(lacks) for _, _, lacks in keys],
        **asdict(weights),
        "variety": caps.variety,
        "ties": -1 if newest_first else 1,
        "query": None if question.first is None else HalfVector(question.first),
        "second": None if question.second is None else HalfVector(question.second),
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
