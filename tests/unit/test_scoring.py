"""What a search brought back, counted by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ops.bench.dataset import Turn
from ops.bench.scoring import Returned, Scored, TurnFinder, by_category, coverage, percentile, ranks


def turn(identity: str, content: str, day: int = 8) -> Turn:
    return Turn(identity, "user", content, datetime(2023, 5, day, 13, 56, tzinfo=UTC))


def found(turns: list[Turn], *contents: str) -> list[str | None]:
    return TurnFinder(turns).turn_ids(Returned(content) for content in contents)


TWICE = [turn("D1:1", "Ines: I ran today.", day=8), turn("D2:1", "Ines: I ran today.", day=9)]


@pytest.mark.parametrize(
    "content", ["[2023-05-08 13:56] Ines:  A boat.", "Ines: A\nboat. ", "[8 May] Ines: A boat."]
)
def test_a_turn_is_known_with_or_without_its_date(content: str) -> None:
    assert found([turn("D1:1", "Ines: A boat.")], content) == ["D1:1"]


def test_a_fact_is_no_turn() -> None:
    turns = [turn("D1:1", "Ines: I bought a boat.")]

    assert found(turns, "[2023-05-08 13:56] I bought a boat.", "Ines bought a boat.") == [None, None]


def test_a_text_said_twice_is_told_apart_by_its_date() -> None:
    assert found(TWICE, "[2023-05-09 13:56] Ines: I ran today.") == ["D2:1"]
    returned = [Returned("Ines: I ran today.", created_at="2023-05-09T13:56:00+00:00")]
    assert TurnFinder(TWICE).turn_ids(returned) == ["D2:1"]


def test_a_text_said_twice_without_a_date_counts_in_document_order() -> None:
    assert found(TWICE, "Ines: I ran today.", "Ines: I ran today.") == ["D1:1", "D2:1"]
    assert found(TWICE, "[2023-05-08 13:56] Ines: I ran today.", "Ines: I ran today.") == ["D1:1", "D2:1"]


def test_a_turn_returned_twice_is_no_other_turn() -> None:
    dated = "[2023-05-08 13:56] Ines: I ran today."

    assert found(TWICE, dated, dated) == ["D1:1", "D1:1"]


def test_a_rank_is_the_first_place_from_one() -> None:
    assert ranks(["D1:2", "D1:9"], [None, "D1:2", "D1:2"]) == [2, None]


def test_coverage_counts_any_and_all_at_each_depth() -> None:
    outcomes = [
        Scored(category=1, ranks=[5, 21], characters=100),  # any from 5 on, all from 40 on
        Scored(category=1, ranks=[6, None], characters=200),  # any from 10 on, never all
        Scored(category=4, ranks=[100], characters=600),  # both at 100
        Scored(category=4, ranks=[None], characters=300),
    ]

    overall = coverage(outcomes)

    assert overall.any_at == {5: 0.25, 10: 0.5, 20: 0.5, 40: 0.5, 100: 0.75}
    assert overall.all_at == {5: 0.0, 10: 0.0, 20: 0.0, 40: 0.25, 100: 0.5}
    assert (overall.questions, overall.characters) == (4, 300)
    categories = by_category(reversed(outcomes))
    assert [(name, one.questions, one.any_at[100]) for name, one in categories.items()] == [(1, 2, 1), (4, 2, 0.5)]


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (1.0, 4.0), (0.0, 1.0)])
def test_a_percentile_is_a_value_by_nearest_rank(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value
