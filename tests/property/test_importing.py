"""An import leaves what its Adds one by one would have left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.bench.provider import StandIn
from pgrecall.settings import Settings
from tests.property.both import Both, rows

CONTENTS = (
    "I moved to Porto yesterday.",
    "My sister lives in Oslo, and my phone number is 555 0134.",
    "Caroline: I bought a 35mm lens for 40 crowns last week",
    "我去年夏天搬到了上海",
    "Nothing new.",
    "   ",
    "a" * 3000,
    "It rained\x00 all day \ud83d\ude00",
)
IDS = ("ana", "béa", "x" * 600, "sha256:of no one", "\ud800")
messages = st.fixed_dictionaries(
    {"content": st.sampled_from(CONTENTS)},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "name": st.sampled_from(["Nils", None]),
        "timestamp": st.sampled_from([1684591200000, 1684591200, "2023-05-20T14:00:00+02:00", "soon", None]),
    },
)
bodies = st.fixed_dictionaries(
    {
        "request_id": st.sampled_from(["r1", "r2", "r3", "r4", "x" * 700]),
        "user_id": st.sampled_from(IDS),
        "session_id": st.sampled_from(["s1", "s2"]),
        "messages": st.lists(messages, min_size=1, max_size=4),
    },
    optional={"timezone": st.sampled_from(["Europe/Berlin", "nowhere"])},
)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def plain(runner: asyncio.Runner, new_database: Callable[..., str]) -> Iterator[Both]:
    both = Both(runner, new_database(), new_database(), Settings())
    yield both
    both.close()


@given(st.lists(bodies, min_size=1, max_size=12), st.lists(bodies, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_import_leaves_what_the_adds_leave(
    plain: Both, first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    plain.empty()
    for sent in (first, second, first):
        repeats, conflicts = plain.add(sent)
        done = plain.put(sent)
        assert sum(len(p.repeats) + len(w.repeats) for p, w in done) == repeats
        assert sum(len(p.conflicts) + len(w.conflicts) for p, w in done) == conflicts
        added, imported = map(rows, plain.urls)
        assert imported == added


def test_import_draws_the_facts_and_states_that_the_adds_draw(
    runner: asyncio.Runner, new_database: Callable[..., str]
) -> None:
    with StandIn() as provider:
        given = Settings(llm_mode="best_effort", llm_base_url=provider.base_url, llm_retries=0, fact_keys=True)
        both = Both(runner, new_database(), new_database(), given)
        sent = [
            {
                "request_id": f"r{number}",
                "user_id": f"u{number % 2}",
                "session_id": "s",
                "messages": [
                    {"role": "user", "content": text, "timestamp": 1684591200000 + number} for text in CONTENTS[:5]
                ],
            }
            for number in range(4)
        ]
        both.add(sent)
        both.put(sent)
        added, imported = map(rows, both.urls)
        both.close()
    assert len(added["facts"]) > 4
    assert imported == added
