"""The way of an Add and of a search, over real HTTP on a real Postgres."""

from __future__ import annotations

import math
import uuid
from typing import Any

import httpx2
import pytest

from tests.api.calling import added, contents, found, post
from tests.running import add_body, serving


def test_what_was_added_is_found_as_date_speaker_and_text(client: httpx2.Client, user: str) -> None:
    answered = client.post("/add", json=add_body(user, "I moved to Lisbon", "The flat has a blue door"))
    assert answered.status_code == 200
    found = client.post("/search", json={"user_id": user, "query": "Where do I live?", "top_k": 5}).json()["data"]
    assert [memory["content"] for memory in found] == [
        "[2023-05-20 14:00] I: I moved to Lisbon",
        "[2023-05-20 14:01] I: The flat has a blue door",
    ]
    assert found[0]["created_at"] == "2023-05-20T14:00:00Z"


def test_ids_are_unique_and_stable_and_scores_are_numbers(client: httpx2.Client, user: str) -> None:
    added(client, user, *(f"In month {month} I painted a fence" for month in range(12)))
    first, second = (found(client, user, "When did I paint?") for _ in range(2))
    assert first == second
    assert len({uuid.UUID(memory["id"]) for memory in first}) == 12
    assert all(math.isfinite(memory["score"]) for memory in first)
    assert all(memory["content"] for memory in first)


def test_the_nearest_message_comes_first_and_brings_its_neighbours(client: httpx2.Client, user: str) -> None:
    added(
        client, user, "The bread is warm", "My bicycle was stolen", "It rained", "Tea is ready", "A crow sat there"
    )
    assert contents(client, user, "stolen bicycle", top_k=3) == [
        "[2023-05-20 14:01] I: My bicycle was stolen",
        "[2023-05-20 14:00] I: The bread is warm",
        "[2023-05-20 14:02] I: It rained",
    ]


def test_neighbours_in_a_window_bear_the_score_of_their_hit(database: str, user: str) -> None:
    with serving(database, window_radius=1) as client:
        added(client, user, "The bread is warm", "My bicycle was stolen", "It rained")
        assert len({memory["score"] for memory in found(client, user, "stolen bicycle")}) == 1


def test_a_session_never_filters(client: httpx2.Client, user: str) -> None:
    added(client, user, "My bicycle was stolen", session_id="one")
    added(client, user, "The bicycle came back", session_id="two")
    assert len(found(client, user, "bicycle", session_id="one")) == 2


def test_nothing_of_another_user_is_ever_found(client: httpx2.Client, user: str) -> None:
    added(client, user, "The safe opens with 4711")
    for other in (user + "x", user + " ", user.upper(), user[:-1], "%", "nobody"):
        assert not any("4711" in content for content in contents(client, other, "The safe opens with 4711"))


def test_an_unknown_user_has_no_memories(client: httpx2.Client, user: str) -> None:
    assert found(client, user, "anything") == []
    assert found(client, user) == []


@pytest.mark.parametrize(
    ("top_k", "count"),
    [
        (0, 0), (-1, 0), (-(10**20), 0), ("0", 0), ("-3", 0),
        (3, 3), ("3", 3), (" 3 ", 3), (3.0, 3),
        ("absent", 100), (None, 100), (2.5, 100), (True, 100), (False, 100), ("many", 100), ("", 100), ([3], 100),
        ({}, 100), (float("nan"), 100), (10**30, 100), (101, 100), ("1000000", 100),
    ],
)  # fmt: skip
def test_any_top_k_is_understood(client: httpx2.Client, diary: str, top_k: Any, count: int) -> None:
    more = {} if top_k == "absent" else {"top_k": top_k}
    assert len(found(client, diary, "What did I plant?", **more)) == count


@pytest.fixture(scope="module")
def diary(client: httpx2.Client) -> str:
    """A user with more memories than a search returns."""
    added(client, "diarist", *(f"On day {day} I planted a row of beans" for day in range(130)))
    return "diarist"


@pytest.mark.parametrize("query", [None, "", "  \n", "the of and", "?!", "absent", "\0"])
def test_a_query_that_asks_nothing_returns_the_newest(client: httpx2.Client, user: str, query: Any) -> None:
    added(client, user, *(f"{minute} past two" for minute in range(10)))
    body = {"user_id": user, "top_k": 2} | ({} if query == "absent" else {"query": query})
    response = post(client, "/search", body)
    assert response.status_code == 200
    newest = {memory["content"] for memory in response.json()["data"]}
    assert newest == {"[2023-05-20 14:09] I: 9 past two", "[2023-05-20 14:08] I: 8 past two"}


@pytest.mark.parametrize("query", [7, ["sail"], {"text": "sail"}, True])
def test_a_query_that_is_no_text_is_still_answered(client: httpx2.Client, user: str, query: Any) -> None:
    added(client, user, "I sail")
    assert len(found(client, user, query)) == 1


@pytest.mark.parametrize(
    "options", [None, "sailing", ["sailing", 3, None, {"text": "rowing"}], 7, [], {"A": "sailing"}, True]
)
def test_any_options_are_understood(client: httpx2.Client, user: str, options: Any) -> None:
    added(client, user, "I sail")
    assert len(found(client, user, "hobby", options=options)) == 1


@pytest.mark.parametrize("wrong", ["absent", None, 7, True, [], ""])
def test_a_search_without_a_user_is_a_422_that_names_the_field(client: httpx2.Client, wrong: Any) -> None:
    body = {"query": "quicksilver-echo"} | ({} if wrong == "absent" else {"user_id": wrong})
    response = post(client, "/search", body)
    assert response.status_code == 422
    assert response.json()["detail"]["field"] == "user_id"
    assert "quicksilver" not in response.text


def test_a_very_long_query_is_answered(client: httpx2.Client, user: str) -> None:
    added(client, user, "I sail")
    assert len(found(client, user, "Where do I sail? " * 20_000)) == 1


def test_lines_that_repeat_each_other_return_once_and_dates_keep_them_apart(
    client: httpx2.Client, user: str
) -> None:
    added(client, user, {"role": "user", "content": "I ran today"}, {"role": "user", "content": "i  RAN today"})
    added(client, user, "I ran today", "I ran today")
    assert sorted(contents(client, user, "run")) == [
        "I: I ran today",
        "[2023-05-20 14:00] I: I ran today [= 20 May 2023]",
        "[2023-05-20 14:01] I: I ran today [= 20 May 2023]",
    ]
