"""The search statement returns what the plain Python reference returns: ids in order, and scores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.deadline import Deadline
from pgrecall.lexical.question import asked_terms
from pgrecall.memory import DENSE_ONLY, Addition, AskedTerm, Caps, Extraction, Message, Question, Weights
from pgrecall.store import Store
from tests.property import logs, reference
from tests.property.reference import Kept
from tests.running import fresh

SEARCHES = 6
"""Searches on each log: filling it costs more than asking."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one search is given."""

    question: Question
    top_k: int
    caps: Caps


class Filled:
    """A store behind plain calls: hypothesis runs its examples outside of any event loop."""

    def __init__(self, runner: asyncio.Runner, store: Store) -> None:
        self._runner = runner
        self._store = store

    def add(self, addition: Addition) -> None:
        _, stored = self._runner.run(self._store.add(addition, Deadline(30)))
        assert stored

    def search(self, user: str, asked: Asked) -> list[tuple[UUID, float]]:
        found = self._runner.run(self._store.search(user, asked.question, asked.top_k, asked.caps, Deadline(30)))
        return [(memory.id, memory.score) for memory in found]


@pytest.fixture(scope="module")
def filled(database: str) -> Iterator[Filled]:
    store = Store(database, schema="public", pool_size=1, prepare=True)
    with asyncio.Runner() as runner:
        runner.run(store.open())
        yield Filled(runner, store)
        runner.run(store.close())


caps = st.builds(
    Caps,
    return_limit=st.sampled_from([2, 5, 100]),
    window_radius=st.integers(0, 3),
    raw_first=st.booleans(),
    return_char_budget=st.sampled_from([1, 80, 200, 400_000]),
    return_token_budget=st.sampled_from([None, None, 1, 90, 250]),
    weights=st.just(DENSE_ONLY),
    variety=st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]),
    candidates=st.sampled_from([1, 2, 4, 400, 400]),
)
by_vectors = st.builds(
    Asked,
    st.builds(Question, first=logs.vectors, second=st.none() | logs.vectors, newest_first=st.booleans()),
    st.integers(1, 12),
    caps,
)
newest = st.builds(Asked, st.just(Question()), st.integers(1, 12), caps)
terms = st.builds(
    lambda words, weight: asked_terms(" ".join(words), ["blue"], number_weight=weight, option_weight=0.25),
    st.lists(st.sampled_from(logs.QUERIES), min_size=1, max_size=4),
    st.sampled_from([0.0, 1.5]),
)
TIMES = ((date(2023, 5, 15), date(2023, 5, 20)), (date(1968, 1, 1), date(1968, 12, 31)))
weightless = st.just((AskedTerm("ran", 0.0), AskedTerm("35", 0.0)))
shares = st.sampled_from([0.0, 0.25, 0.5, 1.0])
weighed = st.builds(
    Asked,
    st.builds(
        Question,
        first=st.none() | logs.vectors,
        second=st.none() | logs.vectors,
        terms=terms | weightless,
        times=st.sampled_from([(), TIMES[:1], TIMES]),
    ),
    st.integers(1, 12),
    st.builds(replace, caps, weights=st.builds(Weights, *[shares] * 8), glossed=st.booleans()),
)


def compare(filled: Filled, user: str, log: list[Kept], data: st.DataObject) -> None:
    """By vectors alone bit for bit. Sums of weighted shares may differ in the last bits with the order of adding:
    the scores agree to 1e-9, and the memories wherever no other scores within that."""
    for asked in data.draw(st.lists(by_vectors | weighed | newest, min_size=SEARCHES, max_size=SEARCHES)):
        found, expected = filled.search(user, asked), reference.search(log, asked.question, asked.top_k, asked.caps)
        if not asked.question.terms and asked.caps.weights == DENSE_ONLY:
            assert found == expected
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-9)
        assert [id_ for id_, _ in found] == [id_ for id_, _ in expected]


@given(st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_search_returns_what_the_reference_returns(filled: Filled, data: st.DataObject) -> None:
    user = fresh("reference")
    additions = data.draw(logs.logs(user))
    for addition in additions:
        filled.add(addition)
    compare(filled, user, reference.stored(additions), data)


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_long_session_is_walked_as_the_reference_walks_it(filled: Filled, data: st.DataObject) -> None:
    """Long enough that the best 3 x top_k are a part of the log, and windows of radius 3 overlap."""
    user = fresh("reference")
    addition = data.draw(logs.additions(user, "request", least=12, most=40))
    filled.add(addition)
    compare(filled, user, reference.stored([addition]), data)


@pytest.mark.parametrize(("repeats", "found"), [(5, 2), (6, 1)])
def test_hits_that_repeat_a_line_count_among_the_best_3_x_top_k(filled: Filled, repeats: int, found: int) -> None:
    """Too rare for chance: of the best 6, walked for a top_k of 2, all or all but the last say the same."""
    user = fresh("reference")
    said = tuple(Message("user", "I", text, None) for text in ["I ran"] * repeats + ["I swam"])
    towards = np.array([logs.widened([2, 0, 0])] * repeats + [logs.widened([1, 0, 0])])
    nothing = logs.widened([0, 0, 0])[None][:0]
    addition = Addition(user, "request", "s", bytes(32), said, towards, (), nothing, Extraction.OFF, None, 1, "")
    filled.add(addition)
    question = Question(logs.widened([1, 0, 0]))
    answer = filled.search(user, Asked(question, 2, Caps(weights=DENSE_ONLY)))
    assert len(answer) == found
    assert answer == reference.search(reference.stored([addition]), question, 2, Caps(weights=DENSE_ONLY))
