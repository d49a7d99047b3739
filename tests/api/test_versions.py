"""Versions of what changes, over HTTP: what tags say, what is left out, and who may see it all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2
import pytest

from ops.bench.provider import StandIn
from tests.api.calling import AT_14, added, contents, post
from tests.running import serving

DAY = 86_400_000
LEEDS, CORK = "I live in Leeds.", "I moved to Cork."


@pytest.fixture(scope="module")
def versioned(database: str) -> Iterator[httpx2.Client]:
    with serving(database, version_tags=True, withhold="both") as made:
        yield made


def said(client: httpx2.Client, user: str, *told: str) -> None:
    """An Add a month apart each, from 20 May 2023 on."""
    for place, text in enumerate(told):
        message = {"role": "user", "content": text, "timestamp": AT_14 + 30 * place * DAY}
        added(client, user, message)


def lines(client: httpx2.Client, user: str, query: str, word: str) -> list[str]:
    return [line for line in contents(client, user, query) if word in line]


@pytest.mark.parametrize("question", ["Where do I live?", "What town do I call home now?"])
def test_a_current_question_does_without_the_old_value(versioned: httpx2.Client, user: str, question: str) -> None:
    said(versioned, user, LEEDS, CORK)
    assert lines(versioned, user, question, "Leeds") == []
    assert len(lines(versioned, user, question, "Cork")) == 1


@pytest.mark.parametrize("question", ["Where did I live before?", "Where have I lived?", "When did I move?"])
def test_a_question_of_history_has_both_values(versioned: httpx2.Client, user: str, question: str) -> None:
    said(versioned, user, LEEDS, CORK)
    assert lines(versioned, user, question, "Leeds")
    assert lines(versioned, user, question, "Cork")


def test_a_question_of_a_date_has_what_held_then(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, LEEDS, CORK)
    assert lines(versioned, user, "Where did I live in May 2023?", "Leeds")
    assert lines(versioned, user, "Where did I live in May 2023?", "Cork") == []


def test_lines_say_which_value_is_the_latest(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, LEEDS, CORK)
    (old,) = lines(versioned, user, "Where did I live before?", "Leeds")
    (new,) = lines(versioned, user, "Where did I live before?", "Cork")
    assert old.endswith("(earlier; replaced 19 June 2023)")
    assert new.endswith("(latest as of 19 June 2023)")


def test_a_state_that_ended_is_not_the_latest(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, "I work at Acme.", "I no longer work at Acme.")
    (works,) = lines(versioned, user, "Where did I work before?", "I work at")
    assert works.endswith("(ended 19 June 2023)")


def test_a_corrected_value_never_held_but_is_kept(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, "My number is 555-0199.", "Correction: my number is 555-0198.")
    (wrong,) = lines(versioned, user, "What was my number before?", "0199")
    assert wrong.endswith("(wrong; corrected 19 June 2023)")
    assert lines(versioned, user, "What was my phone number in May 2023?", "0199") == []
    assert len(lines(versioned, user, "What was my phone number in May 2023?", "0198")) == 1


def test_nobody_elses_state_replaces_the_owners(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, LEEDS, "My sister moved to Cork.")
    (mine,) = lines(versioned, user, "Where do I live?", "Leeds")
    assert mine.endswith("(latest as of 20 May 2023)")


@pytest.mark.parametrize(
    "text", ["I might move to Cork.", "If I moved to Cork I'd be happy.", "I'm going to move to Cork."]
)
def test_a_plan_replaces_nothing_and_has_no_tag(versioned: httpx2.Client, user: str, text: str) -> None:
    said(versioned, user, LEEDS, text)
    assert lines(versioned, user, "Where do I live?", "Leeds")[0].endswith("(latest as of 20 May 2023)")
    assert not any("(latest" in line for line in lines(versioned, user, "Where do I live?", "Cork"))


def test_a_haircut_replaces_no_dentist(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, "My dentist appointment is 3 June.", "My haircut appointment is 9 July.")
    found = contents(versioned, user, "When is my appointment?")
    assert len(found) == 2
    assert not any("earlier" in line or "latest" in line for line in found)


def test_what_was_withheld_is_shown_to_who_asks(versioned: httpx2.Client, user: str) -> None:
    said(versioned, user, LEEDS, CORK)
    body = {"user_id": user, "query": "Where do I live?", "include": ["withheld"]}
    answer = post(versioned, "/search", body).json()
    assert [LEEDS in one["content"] for one in answer["withheld"]] == [True]
    assert not any(LEEDS in one["content"] for one in answer["data"])


def test_without_the_settings_nothing_is_tagged_or_withheld(client: httpx2.Client, user: str) -> None:
    said(client, user, LEEDS, CORK)
    assert len(lines(client, user, "Where do I live?", "Leeds")) == 1
    assert not any("(latest" in line for line in contents(client, user, "Where do I live?"))


def keyed(town: str) -> str:
    """A model's reply to an Add of one message about `town`."""
    keys = {"subject": "owner", "attribute": "residence", "value": town, "relative": False, "closes": False}
    return json.dumps({"facts": [{"fact": f"I live in {town}.", "lines": [1], **keys}]})


def test_an_old_value_that_no_pattern_reads_leaves_by_the_models_keys(database: str, user: str) -> None:
    with (
        StandIn() as model,
        serving(
            database, withhold="both", llm_mode="required", llm_base_url=model.base_url, fact_keys=True
        ) as client,
    ):
        for town in ("Leeds", "Cork"):
            model.misbehave("chat", "content", times=1, content=keyed(town))
        said(client, user, "Home is a loft in Leeds these days", "Unpacked the last box, Cork is home")
        assert lines(client, user, "Where do I live?", "Leeds") == []
        assert len(lines(client, user, "Where do I live?", "Cork")) == 2
        assert len(lines(client, user, "Where have I lived before?", "Leeds")) == 2
