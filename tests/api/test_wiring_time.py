"""Each setting of time reaches what it is about: its effect shows in an answer, or at the provider."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ops.bench.provider import StandIn
from tests.api.calling import AT_14, added, contents, found, post
from tests.running import serving


@pytest.fixture
def provider() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.mark.parametrize(("zone", "shown"), [("UTC", "2023-05-20 14:00"), ("Asia/Tokyo", "2023-05-20 23:00")])
def test_lines_go_by_the_clock_of_the_deployment(database: str, user: str, zone: str, shown: str) -> None:
    with serving(database, timezone=zone) as client:
        added(client, user, "I sail")
        assert contents(client, user, "sail") == [f"[{shown}] I: I sail"]


@pytest.mark.parametrize(("resolve", "note"), [(True, " [= 19 May 2023]"), (False, "")])
def test_resolve_dates_decides_whether_lines_say_what_yesterday_means(
    database: str, user: str, resolve: bool, note: str
) -> None:
    with serving(database, resolve_dates=resolve) as client:
        added(client, user, "I sailed yesterday")
        assert contents(client, user, "sail") == [f"[2023-05-20 14:00] I: I sailed yesterday{note}"]


def test_time_weight_decides_what_a_date_in_the_question_is_worth(database: str, user: str) -> None:
    gained: list[float] = []
    for weight in (0.0, 5.0):
        with serving(database, time_weight=weight) as client:
            if not gained:
                added(client, user, "I sailed in the bay", "I sailed yesterday")
            scores = {one["content"][19:]: one["score"] for one in found(client, user, "sailing on 19 May 2023")}
            gained.append(scores["I: I sailed yesterday [= 19 May 2023]"] - scores["I: I sailed in the bay"])
    assert gained[1] > gained[0] + 4


@pytest.mark.parametrize(("variety", "second"), [(0.0, "I sail boats"), (1.0, "The trellis needs paint")])
def test_variety_decides_whether_what_is_alike_stands_together(
    database: str, user: str, variety: float, second: str
) -> None:
    with serving(database, variety=variety) as client:
        added(client, user, "I sail boat", "I sail boats", "The trellis needs paint")
        assert contents(client, user, "I sail boat")[1].endswith(second)


@pytest.mark.parametrize("keyed", [False, True])
def test_fact_keys_decides_whether_the_model_is_asked_for_them(
    database: str, provider: StandIn, user: str, keyed: bool
) -> None:
    with serving(database, llm_mode="required", llm_base_url=provider.base_url, fact_keys=keyed) as client:
        added(client, user, "I sail")
    (body,) = provider.bodies["chat"]
    assert ("attribute" in str(body["messages"])) == keyed


@pytest.mark.parametrize(("tagged", "tag"), [(False, ""), (True, " (latest as of 20 May 2023)")])
def test_version_tags_say_whether_a_state_still_holds(database: str, user: str, tagged: bool, tag: str) -> None:
    with serving(database, version_tags=tagged) as client:
        added(client, user, "I moved to Porto", "I moved to Lisbon")
        lines = contents(client, user, "Where do I live now?")
    assert f"[2023-05-20 14:01] I: I moved to Lisbon{tag}" in lines


@pytest.mark.parametrize("budget", [None, 60])
@pytest.mark.parametrize("withhold", ["off", "current"])
def test_withhold_leaves_out_what_was_replaced_and_lists_it_within_the_budget(
    database: str, user: str, withhold: str, budget: int | None
) -> None:
    budgets = {} if budget is None else {"return_char_budget": budget}
    with serving(database, withhold=withhold, **budgets) as client:
        added(client, user, "I moved to Porto", "I moved to Lisbon")
        body = {"user_id": user, "query": "Where do I live now?", "include": ["withheld"]}
        answer = post(client, "/search", body).json()
    lines = [str(one["content"]) for one in answer["data"]]
    assert any("Lisbon" in text for text in lines)
    assert any("Porto" in text for text in lines) == (withhold == "off" and budget is None)
    listed = [one["content"] for one in answer["withheld"]]
    assert listed == (
        ["[2023-05-20 14:00] I: I moved to Porto"] if withhold == "current" and budget is None else []
    )


def test_last_week_is_counted_from_the_newest_memory_of_the_user(database: str, user: str) -> None:
    gained: list[float] = []
    for weight in (0.0, 5.0):
        with serving(database, time_weight=weight) as client:
            if not gained:
                week = 7 * 86_400_000
                said = [("I sailed in the bay", AT_14 - week), ("I sailed to the isle", AT_14)]
                texts = [{"role": "user", "content": text, "timestamp": at} for text, at in said]
                added(client, user, *texts)
            scores = {one["content"][-4:]: one["score"] for one in found(client, user, "Did I sail last week?")}
            gained.append(scores[" bay"] - scores["isle"])
    assert gained[1] > gained[0] + 4
