"""Dates said in words, in sentences of both languages: how many are found, and that nothing else is."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from ops.bench.answered_dates import answered
from ops.bench.date_sets import score
from pgrecall.temporal.finding import find

SETS = Path(__file__).parents[1] / "dates"
PLAIN = (SETS / "plain.txt").read_text(encoding="utf-8").splitlines()
DAYS = [date(2023, 6, 5) + timedelta(days=day) for day in range(7)]
DAYS += [date(2024, 2, 29), date(2023, 12, 31), date(2024, 1, 1), date(2022, 10, 15)]


@pytest.mark.parametrize("name", ["english_open.jsonl", "chinese_open.jsonl"])
def test_of_the_times_named_nearly_all_are_found_and_nearly_none_wrongly(name: str) -> None:
    found = score(SETS / name)
    assert found.precision >= 0.98, found.wrong
    assert found.recall >= 0.95, found.wrong


@pytest.mark.parametrize("said_on", [*DAYS, None], ids=str)
def test_sentences_that_name_no_time_hold_none(said_on: date | None) -> None:
    assert {line: found for line in PLAIN if (found := find(line, said_on))} == {}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("7 May 2023", "2023-05-07/2023-05-07"), ("June, 2023", "2023-06-01/2023-06-30"),
        ("2022", "2022-01-01/2022-12-31"), ("The week before 9 June 2023", "2023-05-29/2023-06-04"),
        ("the week of June 9, 2023", "2023-06-05/2023-06-11"),
        ("The Friday before 9June, 2023.", "2023-06-02/2023-06-02"),
        ("two weekends before 17 July 2023", "2023-07-08/2023-07-09"),
        ("The weekend after 9 June, 2023", "2023-06-10/2023-06-11"),
        ("the weekend of 9 June 2023", "2023-06-10/2023-06-11"), ("Since 2016", "2016-01-01/2016-12-31"),
        ("13 August", None), ("two weeks", None), ("a few years ago", None),
    ],
)  # fmt: skip
def test_the_range_that_a_reference_answer_names(answer: str, expected: str | None) -> None:
    meant = answered(answer)
    assert (meant and f"{meant.first}/{meant.last}") == expected
