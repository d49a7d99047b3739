"""Facts and recall questions, end to end, with a stand-in for the language model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import numpy as np
import pytest

from ops.bench.provider import StandIn
from ops.bench.replies import note_each, vector
from pgrecall.language.prompts import MAX_FACTS, PROMPT_VERSION
from tests.api.calling import AT_14, added, contents, found, rows, stored
from tests.running import serving

LINES = ("The bread is warm", "My bicycle was stolen", "It rained on the roof", "A crow sat there")


@pytest.fixture(scope="module")
def standing_in() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.fixture
def provider(standing_in: StandIn) -> StandIn:
    standing_in.behave()
    standing_in.facts_from(note_each)
    return standing_in


def server(database: str, provider: StandIn, **more: Any) -> AbstractContextManager[httpx2.Client]:
    """Facts, recall questions and embeddings from the provider."""
    url = provider.base_url
    settings = {"llm_mode": "required", "llm_base_url": url, "embed_backend": "openai", "embed_base_url": url}
    return serving(database, **settings | more)


@pytest.fixture(scope="module")
def extracting(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    with server(database, standing_in) as made:
        yield made


def test_facts_come_after_the_messages_with_the_date_of_their_lines(
    extracting: httpx2.Client, provider: StandIn, user: str
) -> None:
    added(extracting, user, *LINES[:2])
    assert contents(extracting, user, "bicycle stolen") == [
        "[2023-05-20 14:01] I: My bicycle was stolen",
        "[2023-05-20 14:00] I: The bread is warm",
        "[2023-05-20 14:01] I noted: My bicycle was stolen",
        "[2023-05-20 14:00] I noted: The bread is warm",
    ]


def test_facts_stand_by_rank_when_raw_first_is_off(database: str, provider: StandIn, user: str) -> None:
    with server(database, provider, raw_first=False, window_radius=0) as client:
        added(client, user, *LINES)
        scores = [memory["score"] for memory in found(client, user, "bicycle stolen")]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 8


def test_each_fact_keeps_its_model_its_prompt_and_the_messages_it_rests_on(
    extracting: httpx2.Client, database: str, provider: StandIn, user: str
) -> None:
    provider.facts_from(lambda _: [("i have warm bread", [1]), ("it was a bad day", [3, 2]), ("i was out", [])])
    added(extracting, user, *LINES[:3])
    added(extracting, user, "It rained again", "The bread is cold", "So it goes")
    assert rows(
        database,
        """SELECT f.content, f.prompt_version, f.language_model,
                  (SELECT array_agg(m.content ORDER BY m.n) FROM messages AS m
                   WHERE m.user_id = f.user_id AND m.n = ANY (f.source_ns) AND m.request_id = f.request_id),
                  extract(epoch FROM f.occurred_at)::bigint * 1000 - %s
           FROM facts AS f WHERE user_id = %s ORDER BY n LIMIT 3""",
        [AT_14, user],
    ) == [
        ("i have warm bread", PROMPT_VERSION, "gpt-4o-mini", ["The bread is warm"], 0),
        ("it was a bad day", PROMPT_VERSION, "gpt-4o-mini", [*LINES[1:3]], 60_000),
        ("i was out", PROMPT_VERSION, "gpt-4o-mini", [*LINES[:3]], 0),
    ]


def test_facts_with_invented_numbers_or_names_and_facts_beyond_24_are_left_out(
    extracting: httpx2.Client, database: str, provider: StandIn, user: str
) -> None:
    words = [letter + other for letter in "abcdef" for other in "vwxyz"]
    invented = [("I saw 99 crows", [1]), ("I met Gwendolyn", [1])]
    provider.facts_from(lambda _: invented + [(f"i like {word}", [1]) for word in words])
    added(extracting, user, LINES[0])
    drawn = rows(database, "SELECT content FROM facts WHERE user_id = %s ORDER BY position", [user])
    assert drawn == [(f"i like {word}",) for word in words[:MAX_FACTS]]


def test_undated_messages_give_undated_facts(extracting: httpx2.Client, provider: StandIn, user: str) -> None:
    added(extracting, user, {"role": "user", "content": "I sail"})
    assert contents(extracting, user, "sail") == ["I: I sail", "I noted: I sail"]


def test_each_channel_can_be_switched_off_by_itself(database: str, provider: StandIn, user: str) -> None:
    with server(database, provider, extract=False) as client:
        added(client, user, *LINES)
        assert provider.calls["chat"] == 0
        assert stored(database, user)["facts"] == 0
        assert rows(database, "SELECT extraction FROM requests WHERE user_id = %s", [user]) == [("off",)]
        found(client, user, "bicycle")
        assert provider.calls["chat"] == 1
    provider.behave()
    with server(database, provider, recall_question=False) as client:
        added(client, user, "I sail")
        assert provider.calls["chat"] == 1
        assert stored(database, user)["facts"] == 1
        found(client, user, "bicycle")
        assert provider.calls["chat"] == 1


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_score_is_the_weighted_sum_of_both_similarities(
    database: str, provider: StandIn, user: str, weight: float
) -> None:
    question = "Did I tell you about the bicycle that was stolen?"
    vectors_alone = {
        "dense_weight": 1,
        "lexical_weight": 0,
        "neighbour_weight": 0,
        "second_neighbour_weight": 0,
        "session_weight": 0,
    }
    with server(database, provider, extract=False, recall_weight=weight, **vectors_alone) as client:
        added(client, user, *LINES)
        provider.misbehave("chat", "content", content=json.dumps({"recall_question": question}))
        data = found(client, user, "warm bread")

    def similarity(text: str, content: str) -> float:
        return float(np.dot(vector(text, 1024), vector(content, 1024)))

    sums = [
        (1 - weight) * similarity("warm bread", memory["content"])
        + weight * similarity(question, memory["content"])
        for memory in data
    ]
    for memory, one in zip(data, sums, strict=True):  # as a score: from 0, the least of the log, to 1
        assert memory["score"] == pytest.approx((one - min(sums)) / (max(sums) - min(sums)), abs=1e-2)
    assert data[0]["content"].endswith(LINES[1] if weight == 1 else LINES[0])
    assert [memory["score"] for memory in data] == sorted((memory["score"] for memory in data), reverse=True)


def test_the_weight_is_one_half_unless_it_is_set(database: str, provider: StandIn, user: str) -> None:
    with server(database, provider) as client, server(database, provider, recall_weight=0.5) as half:
        added(client, user, *LINES)
        assert found(client, user, "warm bread") == found(half, user, "warm bread")


def test_weight_nought_ranks_as_without_a_recall_question(database: str, provider: StandIn, user: str) -> None:
    with server(database, provider, recall_weight=0) as client:
        added(client, user, *LINES)
        weightless = found(client, user, "crow on the roof")
    with server(database, provider, recall_question=False) as client:
        assert found(client, user, "crow on the roof") == weightless


def test_a_second_round_merges_what_was_missing_under_the_same_caps(
    database: str, provider: StandIn, user: str
) -> None:
    def ask(second: object, first: str = "Did I tell you about warm bread?") -> list[str]:
        provider.behave()
        provider.misbehave("chat", "content", content=json.dumps({"recall_question": first}), times=1)
        provider.misbehave("chat", "content", content=json.dumps({"recall_question": second}))
        return contents(client, user, "warm bread", top_k=2)

    shared = {"extract": False, "window_radius": 0}
    with server(database, provider, second_round=True, recall_weight=0.9, **shared) as client:
        added(client, user, *LINES, "Warm soup", "Cold bread")
        once = ask(None)
        assert provider.calls["chat"] == 2
        twice = ask("Did I tell you that my bicycle was stolen?")
        assert provider.calls["chat"] == 2
    assert len(once) == len(twice) == 2
    assert not any("bicycle" in line for line in once)
    assert any("bicycle" in line for line in twice)
    assert any("bread is warm" in line for line in twice)
    sent = provider.bodies["chat"][-1]["messages"][-1]["content"]
    assert all(line in sent for line in once)


def test_every_request_is_at_temperature_0_with_a_fixed_seed_and_bounded(
    extracting: httpx2.Client, provider: StandIn, user: str
) -> None:
    added(extracting, user, *LINES)
    found(extracting, user, "bicycle")
    found(extracting, user, "roof")
    bodies = provider.bodies["chat"]
    assert [body["max_tokens"] for body in bodies] == [1200, 200, 200]
    assert {body["temperature"] for body in bodies} == {0}
    assert len({body["seed"] for body in bodies}) == 1
    assert isinstance(bodies[0]["seed"], int)
    assert {body["model"] for body in bodies} == {"gpt-4o-mini"}


def test_options_reach_the_model_as_topics_and_the_embedder_not_at_all(
    extracting: httpx2.Client, provider: StandIn, user: str
) -> None:
    added(extracting, user, *LINES)
    found(extracting, user, "Who sat there?", options=["magpie", "heron"])
    prompt = provider.bodies["chat"][-1]["messages"][-1]["content"]
    assert "magpie" in prompt
    assert "heron" in prompt
    assert not any("magpie" in text for body in provider.bodies["embeddings"] for text in body["input"])


@pytest.mark.parametrize(
    ("heads", "named"),
    [
        (("Caroline: ", "Caroline: "), True),
        (("", ""), False),
        (("Caroline: ", "Melanie: "), False),
        (("Caroline: ", ""), False),
    ],
)
def test_the_model_learns_which_name_is_the_owners(
    extracting: httpx2.Client, provider: StandIn, user: str, heads: tuple[str, str], named: bool
) -> None:
    said = [{"role": "user", "content": head + text} for head, text in zip(heads, LINES, strict=False)]
    added(extracting, user, *said, {"role": "assistant", "content": "Tom: I see"})
    prompt = provider.bodies["chat"][0]["messages"][-1]["content"]
    assert ('The lines of "Caroline" are the owner\'s own words.' in prompt) == named
    assert 'The lines of "Tom"' not in prompt
