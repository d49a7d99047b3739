"""The read path in plain Python: what sql/search.sql must return, as straight loops over the whole log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pgrecall.lexical.analysis import Analysis, analyse
from pgrecall.lexical.dates import date_terms
from pgrecall.memory import DENSE_ONLY, Addition, Caps, Kind, Question, Vector, memory_id
from pgrecall.rendering import estimate_tokens, line, spoken
from pgrecall.temporal.expressions import TimeExpression
from pgrecall.temporal.finding import find
from tests.property import scoring

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored memory. `turn_index` of a fact: that of the first message it rests on."""

    kind: Kind
    id: UUID
    session_id: str
    occurred_at: datetime | None
    turn_index: int
    position: int
    line: str
    glossed: str
    """The line with the dates that its words mean."""
    dates: tuple[TimeExpression, ...]
    vector: Vector
    analysis: Analysis
    sources: tuple[UUID, ...] = ()
    """Of a fact: the ids of its messages."""

    @property
    def when(self) -> tuple[datetime, int]:
        """The order in a session: undated first."""
        return self.occurred_at or LONG_AGO, self.turn_index


def stored(additions: Iterable[Addition]) -> list[Kept]:
    """One user's log after these Adds, one after the other."""
    log: list[Kept] = []
    next_turn: Counter[str] = Counter()
    for a in additions:
        first_turn = next_turn[a.session_id]
        next_turn[a.session_id] += len(a.messages)
        for place, m in enumerate(a.messages):
            id_ = memory_id(a.user_id, a.request_id, Kind.MESSAGE, place)
            turn, vector = first_turn + place, a.message_vectors[place]
            lines = lines_of(m.occurred_at, m.speaker, m.content)
            terms = terms_of(spoken(m.speaker, m.content), lines[2])
            log.append(Kept(Kind.MESSAGE, id_, a.session_id, m.occurred_at, turn, place, *lines, vector, terms))
        for place, f in enumerate(a.facts):
            id_ = memory_id(a.user_id, a.request_id, Kind.FACT, place)
            date = a.messages[f.sources[0]].occurred_at
            turn, vector = first_turn + f.sources[0], a.fact_vectors[place]
            rests_on = tuple(memory_id(a.user_id, a.request_id, Kind.MESSAGE, source) for source in f.sources)
            lines = lines_of(date, None, f.content)
            terms = terms_of(f.content, lines[2])
            log.append(Kept(Kind.FACT, id_, a.session_id, date, turn, place, *lines, vector, terms, rests_on))
    return log


def lines_of(
    moment: datetime | None, speaker: str | None, content: str
) -> tuple[str, str, tuple[TimeExpression, ...]]:
    """The line without and with its dates, and those."""
    dates = find(content, None if moment is None else moment.date())
    return line(moment, speaker, content), line(moment, speaker, content, dates), dates


def terms_of(text: str, dates: tuple[TimeExpression, ...]) -> Analysis:
    analysis = analyse(text)
    analysis.terms.update(date_terms(dates))
    return analysis


def search(log: Sequence[Kept], question: Question, top_k: int, caps: Caps) -> list[tuple[UUID, float]]:
    """Ids and scores, in the order a reader gets them."""
    taken: list[tuple[Kept, float]] = []
    lines: set[str] = set()
    characters = tokens = 0
    wanted = min(top_k, caps.return_limit)
    for memory, score in walk(log, question, caps, 3 * wanted):
        folded = " ".join(memory.line.lower().split())
        if folded in lines:
            continue
        shown = memory.glossed if caps.glossed else memory.line
        characters += len(shown)
        tokens += estimate_tokens(shown)
        over_budget = characters > caps.return_char_budget or tokens > (caps.return_token_budget or tokens)
        if len(taken) == wanted or (taken and over_budget):
            break
        taken.append((memory, score))
        lines.add(folded)
    if caps.raw_first:
        taken.sort(key=lambda pair: pair[0].kind)
    return [(memory.id, score) for memory, score in taken]


def walk(log: Sequence[Kept], question: Question, caps: Caps, hits: int) -> Iterable[tuple[Kept, float]]:
    """The best hits, each message with its neighbours: nearest first, earlier before later."""
    newest = question.first is None and not question.terms
    weights = DENSE_ONLY if newest else caps.weights
    scored = list(zip(log, scoring.totals(log, question, weights, caps.candidates), strict=True))

    def rank(pair: tuple[Kept, float]) -> tuple[Any, ...]:
        memory, (when, turn) = pair[0], pair[0].when
        seconds = (when - LONG_AGO).total_seconds()
        age = (-seconds, -turn) if newest or question.newest_first else (seconds, turn)
        nearness = scoring.similarity(memory, question)
        return -pair[1], -nearness, *age, memory.kind, memory.position, memory.session_id

    for memory, score in scoring.varied(sorted(scored, key=rank)[:hits], caps.variety):
        yield memory, score
        if memory.kind is Kind.FACT:
            continue
        session = in_order(log, memory.session_id)
        place = session.index(memory)
        for distance in range(1, caps.window_radius + 1):
            for near in (place - distance, place + distance):
                if 0 <= near < len(session):
                    yield session[near], score


def in_order(log: Sequence[Kept], session_id: str) -> list[Kept]:
    """A session's messages in their order."""
    messages = [m for m in log if m.kind is Kind.MESSAGE and m.session_id == session_id]
    return sorted(messages, key=lambda m: m.when)
