"""The search statement returns what the plain Python reference returns: ids in order, and scores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.deadline import Deadline
from pgrecall.memory import Addition, Caps, Extraction, Message, Vector
from pgrecall.store import Store
from tests.property import logs, reference
from tests.running import fresh

SEARCHES = 6
"""Searches on each log: filling it costs more than asking."""


@dataclass(frozen=True, slots=True)
class Question:
    """What one search is given."""

    first: Vector | None
    second: Vector | None
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

    def search(self, user: str, q: Question) -> list[tuple[object, float]]:
        found = self._runner.run(self._store.search(user, q.first, q.second, q.top_k, q.caps, Deadline(30)))
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
)
asked = st.builds(Question, logs.vectors, st.none() | logs.vectors, st.integers(1, 12), caps)
blank = st.builds(Question, st.none(), st.none(), st.integers(1, 12), caps)


def compare(filled: Filled, user: str, additions: list[Addition], data: st.DataObject) -> None:
    log = reference.stored(additions)
    for q in data.draw(st.lists(asked | asked | blank, min_size=SEARCHES, max_size=SEARCHES)):
        assert filled.search(user, q) == reference.search(log, q.first, q.second, q.top_k, q.caps)


@given(st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_search_returns_what_the_reference_returns(filled: Filled, data: st.DataObject) -> None:
    user = fresh("reference")
    additions = data.draw(logs.logs(user))
    for addition in additions:
        filled.add(addition)
    compare(filled, user, additions, data)


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_long_session_is_walked_as_the_reference_walks_it(filled: Filled, data: st.DataObject) -> None:
    """Long enough that the best 3 x top_k are a part of the log, and windows of radius 3 overlap."""
    user = fresh("reference")
    addition = data.draw(logs.additions(user, "request", least=12, most=40))
    filled.add(addition)
    compare(filled, user, [addition], data)


@pytest.mark.parametrize(("repeats", "found"), [(5, 2), (6, 1)])
def test_hits_that_repeat_a_line_count_among_the_best_3_x_top_k(filled: Filled, repeats: int, found: int) -> None:
    """Too rare for chance: of the best 6, walked for a top_k of 2, all or all but the last say the same."""
    user = fresh("reference")
    said = tuple(Message("user", "I", text, None) for text in ["I ran"] * repeats + ["I swam"])
    towards = np.array([logs.widened([2, 0, 0])] * repeats + [logs.widened([1, 0, 0])])
    nothing = logs.widened([0, 0, 0])[None][:0]
    addition = Addition(user, "request", "s", bytes(32), said, towards, (), nothing, Extraction.OFF, None, 1, "")
    filled.add(addition)
    question = Question(logs.widened([1, 0, 0]), None, 2, Caps(window_radius=0))
    answer = filled.search(user, question)
    assert len(answer) == found
    assert answer == reference.search(
        reference.stored([addition]), question.first, None, question.top_k, question.caps
    )
