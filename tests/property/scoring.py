"""The score of every memory in plain Python: what the upper half of sql/search.sql must compute."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from pgrecall.memory import AskedTerm, Kind, Question, Weights

if TYPE_CHECKING:
    from tests.property.reference import Kept

UNDATED = -1e12
"""The similarity of an undated memory where the newest are asked for: below that of every date."""
K1, B = 0.9, 0.75


def similarity(memory: Kept, question: Question) -> float:
    """Inner product; with two vectors the better; with none the time it was said."""
    if question.first is None:
        return UNDATED if memory.occurred_at is None else memory.occurred_at.timestamp()
    given = [vector for vector in (question.first, question.second) if vector is not None]
    return max(float(np.dot(memory.vector, vector)) for vector in given)


PASSED_ON = 0.2
"""Share of what vectors and words give at most, below which a score is not passed on to neighbours."""


def totals(log: Sequence[Kept], question: Question, weights: Weights, candidates: int) -> list[float]:
    """One score a memory, in the order of the log. Of vectors and words only what is better than the last of the
    best `candidates` counts."""
    if not log:
        return []
    if question.first is None and question.terms:
        weights = replace(weights, dense=0.0)
    near = [similarity(memory, question) for memory in log]
    answered = posted(log, question, weights)
    words = bm25(log, answered)
    low, high, most = sorted(near, reverse=True)[:candidates][-1], max(near), max(words)
    heaviest = sorted((word for word in words if word), reverse=True)[:candidates]
    least = heaviest[-1] if len(heaviest) == candidates else 0.0
    trust = min(1.0, max((asked.weight for asked, _ in answered), default=1.0))
    base = {
        memory.id: weights.dense * (max(near[place] - low, 0) / (high - low) if high > low else 0.0)
        + weights.lexical * (trust * max(words[place] - least, 0) / (most - least) if most > least else 0.0)
        for place, memory in enumerate(log)
    }
    own = {memory.id: base[memory.id] + weights.fact * best_fact(log, memory, base) for memory in log}
    gives = {id_: one if one >= PASSED_ON * (weights.dense + weights.lexical) else 0.0 for id_, one in own.items()}
    heavy = [memory for place, memory in enumerate(log) if words[place] > least]
    shares = held(log, heavy, question, answered, trust)
    scores = []
    for memory in log:
        score = own[memory.id] + around(log, memory, gives, weights)
        score += weights.session * shares.get(memory.session_id, 0.0) if score > 0 else 0.0
        scores.append(score + (weights.time if timely(memory, question) else 0.0))
    return scores


def timely(memory: Kept, question: Question) -> bool:
    """Whether it was said in a time that the question names, or says a date in it."""
    days = [(said.first, said.last) for said in memory.dates]
    if memory.occurred_at is not None:
        days.append((memory.occurred_at.date(), memory.occurred_at.date()))
    return any(first <= until and last >= since for first, last in days for since, until in question.times)


def posted(log: Sequence[Kept], question: Question, weights: Weights) -> list[tuple[AskedTerm, list[str]]]:
    """Each term of the question that is answered, with the terms of the log that answer it."""
    known = {term for memory in log for term in memory.analysis.terms}
    answered = []
    for asked in question.terms:
        discounted = asked.weight * weights.spelling
        if asked.term not in known:
            if meant := nearest(log, asked):
                answered.append((replace(asked, weight=discounted), meant))
        elif len(asked.term) == 1 and (pairs := nearest(log, asked)):
            answered.append((asked, [asked.term, *pairs]))
        else:
            answered.append((asked, [asked.term]))
    return answered


def nearest(log: Sequence[Kept], asked: AskedTerm) -> list[str]:
    """The terms of the log that share most spellings with an unknown one."""
    spelt: set[tuple[str, int, str]] = set()
    for memory in log:
        for word, term in memory.analysis.words.items():
            spelt.add((word, 0, term))
            spelt |= {(word[:gap] + word[gap + 1 :], 1, term) for gap in range(len(word))}
    shared: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, lacks in asked.keys:
        for spelling, missing, term in spelt:
            if key == spelling and lacks + missing > 0:
                shared[term].append((lacks, missing))
    likely = [
        (-len(ways), sum(missing for _, missing in ways), term)
        for term, ways in shared.items()
        if len(ways) > 1 or min(lacks + missing for lacks, missing in ways) == 1 or term[:1] == asked.term[:1]
    ]
    most = 50 if len(asked.term) == 1 else 3
    return [term for _, _, term in sorted(likely)[:most]]


def bm25(log: Sequence[Kept], answered: Sequence[tuple[AskedTerm, list[str]]]) -> list[float]:
    """Added up in whole numbers of 1e-11, as in the SQL: in whatever order."""
    average = max(sum(memory.analysis.length for memory in log), 1) / len(log)
    scores = [0.0] * len(log)
    # The question's own terms first, then those that stand for others: as the SQL adds them up.
    for own in (True, False):
        for asked, terms in answered:
            postings = sum(term in memory.analysis.terms for memory in log for term in terms)
            idf = asked.weight * math.log(1 + max(len(log) - postings + 0.5, 0) / (postings + 0.5))
            for term in sorted(term for term in terms if (term == asked.term) == own):
                for place, memory in enumerate(log):
                    if count := memory.analysis.terms[term]:
                        norm = K1 * ((1 - B) + B * memory.analysis.length / average)
                        scores[place] += round(idf * count * 1.9e11 / (count + norm))
    return [score / 1e11 for score in scores]


def held(
    log: Sequence[Kept],
    heavy: Sequence[Kept],
    question: Question,
    answered: Sequence[tuple[AskedTerm, list[str]]],
    trust: float,
) -> dict[str, float]:
    """The share of the question's first 62 terms, by rarity among sessions, that those messages of each session
    hold whose words count. How many sessions hold a term is estimated, as if its holders were spread at random."""
    sessions = len({memory.session_id for memory in log})
    first = {asked.term for asked in question.terms[:62]}
    weight = {asked.term: asked.weight for asked in question.terms}
    holding = {
        asked.term: {
            memory.session_id
            for memory in heavy
            if memory.kind is Kind.MESSAGE and any(term in memory.analysis.terms for term in terms)
        }
        for asked, terms in answered
        if asked.term in first
    }
    rarity = {}
    for asked, terms in answered:
        if asked.term in first:
            postings = sum(term in memory.analysis.terms for memory in log for term in terms)
            among = sessions * (1 - math.exp(-postings / sessions))
            idf = math.log(1 + max(sessions - among + 0.5, 0) / (among + 0.5))
            rarity[asked.term] = float(round(weight[asked.term] * 1e11 * idf))
    sums: dict[str, float] = defaultdict(float)
    for term, idf in rarity.items():
        for session_id in holding[term]:
            sums[session_id] += idf
    whole = sum(rarity.values())
    return {session_id: trust * one / whole if whole else 0.0 for session_id, one in sums.items()}


def best_fact(log: Sequence[Kept], memory: Kept, base: dict[UUID, float]) -> float:
    return max((base[fact.id] for fact in log if memory.id in fact.sources), default=0.0)


def around(log: Sequence[Kept], memory: Kept, own: dict[UUID, float], weights: Weights) -> float:
    """What a message has from the better neighbour at distance 1 and at distance 2."""
    if memory.kind is Kind.FACT:
        return 0.0
    session = sorted(
        (m for m in log if m.kind is Kind.MESSAGE and m.session_id == memory.session_id), key=lambda m: m.when
    )
    place = session.index(memory)
    score = 0.0
    for distance, weight in ((1, weights.neighbour), (2, weights.second_neighbour)):
        beside = [own[session[at].id] for at in (place - distance, place + distance) if 0 <= at < len(session)]
        score += weight * max(beside, default=0.0)
    return score


def varied(ranked: list[tuple[Kept, float]], variety: float) -> list[tuple[Kept, float]]:
    """The first 200 by maximal marginal relevance, the rest after them as they were."""
    if not variety or not ranked:
        return ranked
    waiting = ranked[:200]
    chosen: list[tuple[Kept, float]] = []
    most, least = waiting[0][1], waiting[-1][1]

    def gain(pair: tuple[Kept, float]) -> float:
        relevance = (pair[1] - least) / (most - least) if most > least else 0.0
        alike = max(float(np.dot(pair[0].vector, taken.vector)) for taken, _ in chosen)
        return (1 - variety) * relevance - variety * alike

    while waiting:
        following = max(waiting, key=gain) if chosen else waiting[0]
        waiting.remove(following)
        chosen.append(following)
    return chosen + ranked[200:]
