"""A search as of a moment equals, byte for byte, that of a store which only ever received what was said by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import takewhile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.deadline import Deadline
from pgrecall.memory import Addition, Caps, Fact, FoundMemory, Message, Question
from pgrecall.store import Store
from tests.property import logs
from tests.property.test_search_reference import terms
from tests.running import fresh

CUTS = [
    datetime(1968, 7, 1, tzinfo=UTC),
    datetime(2023, 5, 20, 13, 59, 59, tzinfo=UTC),
    datetime(2023, 5, 20, 14, 0, tzinfo=UTC),
    datetime(2023, 5, 20, 14, 0, 30, tzinfo=UTC),
    datetime(2023, 5, 21, 9, 0, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(9000, 1, 1, tzinfo=UTC),
]
"""Before, at and between the moments of tests/property/logs.py; after 2024 lies when the undated are received."""
NOW = datetime(2500, 1, 1, tzinfo=UTC)
LOGS = 143
"""With 7 cuts each: 1,001."""


def visible_from(message: Message) -> datetime:
    return message.occurred_at or NOW


def in_order(addition: Addition) -> Addition:
    """Its messages by time and its facts by their last message: what was said by a moment then comes first, and has
    the same places in a request that ends there."""
    order = sorted(range(len(addition.messages)), key=lambda place: visible_from(addition.messages[place]))
    moved = {old: new for new, old in enumerate(order)}
    facts = [replace(f, sources=tuple(sorted(moved[s] for s in f.sources))) for f in addition.facts]
    by_last = sorted(range(len(facts)), key=lambda place: facts[place].sources[-1])
    return replace(
        addition,
        messages=tuple(addition.messages[place] for place in order),
        message_vectors=addition.message_vectors[order],
        facts=tuple(facts[place] for place in by_last),
        fact_vectors=addition.fact_vectors[by_last],
    )


def said_by(addition: Addition, moment: datetime) -> Addition:
    """What of it had been said."""
    messages = tuple(takewhile(lambda m: visible_from(m) <= moment, addition.messages))
    facts: tuple[Fact, ...] = tuple(takewhile(lambda f: f.sources[-1] < len(messages), addition.facts))
    return replace(
        addition,
        messages=messages,
        message_vectors=addition.message_vectors[: len(messages)],
        facts=facts,
        fact_vectors=addition.fact_vectors[: len(facts)],
    )


class Stores:
    """One that received everything, and for each moment one that received what was said by then."""

    def __init__(self, runner: asyncio.Runner, whole: Store, partial: dict[datetime, Store]) -> None:
        self._runner = runner
        self._whole = whole
        self._partial = partial

    def receive(self, log: Sequence[Addition]) -> None:
        for addition in log:
            self._runner.run(self._whole.add(addition, Deadline(30)))
            for moment, store in self._partial.items():
                if (part := said_by(addition, moment)).messages:
                    self._runner.run(store.add(part, Deadline(30)))

    def search(
        self, user: str, question: Question, caps: Caps, moment: datetime
    ) -> tuple[list[FoundMemory], list[FoundMemory]]:
        """What the whole store finds as of a moment, and what the one finds that received no more."""
        asked = [(self._whole, replace(question, as_of=moment)), (self._partial[moment], question)]
        whole, partial = (self._runner.run(store.search(user, q, 10, caps, Deadline(30))) for store, q in asked)
        return whole, partial


@pytest.fixture(scope="module")
def stores(new_database: Callable[..., str]) -> Iterator[Stores]:
    made = [Store(new_database(), schema="public", pool_size=1, prepare=True) for _ in range(1 + len(CUTS))]
    with asyncio.Runner() as runner:
        for store in made:
            runner.run(store.open())
        yield Stores(runner, made[0], dict(zip(CUTS, made[1:], strict=True)))
        for store in made:
            runner.run(store.close())


questions = st.builds(
    Question,
    first=st.none() | logs.vectors,
    second=st.none() | logs.vectors,
    terms=terms,
    times=st.sampled_from([(), ((date(2023, 5, 19), date(2023, 5, 20)),)]),
    newest_first=st.booleans(),
)
caps = st.builds(
    Caps, return_limit=st.sampled_from([3, 100]), window_radius=st.integers(0, 2), raw_first=st.booleans()
)


@given(st.data())
@settings(max_examples=LOGS, deadline=None, suppress_health_check=list(HealthCheck))
def test_as_of_a_moment_nothing_said_later_has_been_received(stores: Stores, data: st.DataObject) -> None:
    user = fresh("as-of")
    stores.receive([in_order(addition) for addition in data.draw(logs.logs(user))])
    for moment in CUTS:
        found, expected = stores.search(user, data.draw(questions), data.draw(caps), moment)
        assert found == expected
