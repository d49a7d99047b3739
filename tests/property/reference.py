"""The read path in plain Python: what sql/search.sql must return, as straight loops over the whole log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np

from pgrecall.memory import Addition, Caps, Kind, Vector, memory_id
from pgrecall.rendering import estimate_tokens, line

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
UNDATED = -1e12
"""The score of an undated memory where the newest are asked for: below that of every date."""


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
    vector: Vector

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
            said = line(m.occurred_at, m.speaker, m.content)
            turn, vector = first_turn + place, a.message_vectors[place]
            log.append(Kept(Kind.MESSAGE, id_, a.session_id, m.occurred_at, turn, place, said, vector))
        for place, f in enumerate(a.facts):
            id_ = memory_id(a.user_id, a.request_id, Kind.FACT, place)
            date = a.messages[f.sources[0]].occurred_at
            turn, vector = first_turn + f.sources[0], a.fact_vectors[place]
            log.append(Kept(Kind.FACT, id_, a.session_id, date, turn, place, line(date, None, f.content), vector))
    return log


def search(
    log: Sequence[Kept], first: Vector | None, second: Vector | None, top_k: int, caps: Caps
) -> list[tuple[UUID, float]]:
    """Ids and scores, in the order a reader gets them."""
    taken: list[tuple[Kept, float]] = []
    lines: set[str] = set()
    characters = tokens = 0
    wanted = min(top_k, caps.return_limit)
    for memory, score in walk(log, first, second, 3 * wanted, caps.window_radius):
        folded = " ".join(memory.line.lower().split())
        if folded in lines:
            continue
        characters += len(memory.line)
        tokens += estimate_tokens(memory.line)
        over_budget = characters > caps.return_char_budget or tokens > (caps.return_token_budget or tokens)
        if len(taken) == wanted or (taken and over_budget):
            break
        taken.append((memory, score))
        lines.add(folded)
    if caps.raw_first:
        taken.sort(key=lambda pair: pair[0].kind)
    return [(memory.id, score) for memory, score in taken]


def walk(
    log: Sequence[Kept], first: Vector | None, second: Vector | None, hits: int, radius: int
) -> Iterable[tuple[Kept, float]]:
    """The best hits, each message with its neighbours: nearest first, earlier before later."""
    scored = [(memory, score_of(memory, first, second)) for memory in log]
    later_first = -1 if first is None else 1

    def rank(pair: tuple[Kept, float]) -> tuple[Any, ...]:
        (when, turn), memory = pair[0].when, pair[0]
        return -pair[1], when, later_first * turn, memory.kind, memory.position, memory.id

    for memory, score in sorted(scored, key=rank)[:hits]:
        yield memory, score
        if memory.kind is Kind.FACT:
            continue
        messages = [m for m in log if m.kind is Kind.MESSAGE and m.session_id == memory.session_id]
        session = sorted(messages, key=lambda m: m.when)
        place = session.index(memory)
        for distance in range(1, radius + 1):
            for near in (place - distance, place + distance):
                if 0 <= near < len(session):
                    yield session[near], score


def score_of(memory: Kept, first: Vector | None, second: Vector | None) -> float:
    """Inner product; with two vectors the better; with none the time it was said."""
    if first is None:
        return UNDATED if memory.occurred_at is None else memory.occurred_at.timestamp()
    return max(float(np.dot(memory.vector, v)) for v in (first, second) if v is not None)
