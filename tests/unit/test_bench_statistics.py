"""Intervals, the paired test and the table of two runs, checked by hand and by brute force."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import pytest
from rich.console import Console

from ops.bench.compare import report
from ops.bench.run import Outcome
from ops.bench.statistics import mcnemar, paired, share


def outcome(question: int, rank: int | None, category: int = 4) -> Outcome:
    return {
        "conversation": "boat",
        "question": question,
        "category": category,
        "evidence": ["D1:1"],
        "ranks": [rank],
        "contents": ["Ines: A boat."],
    }


def printed(first: list[Outcome], second: list[Outcome]) -> tuple[bool, list[str]]:
    paper = io.StringIO()
    good = report(first, second, Console(file=paper, width=100))
    return good, paper.getvalue().splitlines()


def test_an_interval_holds_the_mean_and_comes_out_alike_from_one_seed() -> None:
    outcomes = [1] * 60 + [0] * 40

    interval = share(outcomes, seed=3)

    assert interval == share(outcomes[::-1], seed=3) != share(outcomes, seed=4, resamples=500)
    assert interval.mean == 0.6
    # The normal approximation: 0.6 +- 1.96 * sqrt(0.6 * 0.4 / 100)
    assert [interval.low, interval.high] == pytest.approx([0.504, 0.696], abs=0.011)


def test_the_interval_is_that_of_resampled_outcomes() -> None:
    outcomes = np.array([1] * 35 + [0] * 5)
    drawn = np.random.default_rng(1).choice(outcomes, size=(20_000, 40)).mean(axis=1)

    interval = share(outcomes.tolist())

    assert [interval.low, interval.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.013)


def test_ninety_five_of_a_hundred_intervals_hold_the_true_share() -> None:
    random = np.random.default_rng(5)
    intervals = [share(random.binomial(1, 0.7, size=200).tolist(), resamples=1000) for _ in range(400)]

    assert 0.92 <= sum(one.low <= 0.7 <= one.high for one in intervals) / 400 <= 0.98


def test_outcomes_all_alike_have_a_point_for_an_interval() -> None:
    assert [(one.mean, one.low, one.high) for one in (share([1, 1]), share([0]))] == [(1, 1, 1), (0, 0, 0)]


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (0, 5), (3, 3), (2, 7), (9, 1)])
def test_the_paired_test_counts_every_way_the_coins_could_fall(won: int, lost: int) -> None:
    falls = [sum(coins) for coins in product((0, 1), repeat=won + lost)]
    apart = [heads for heads in falls if abs(2 * heads - won - lost) >= abs(won - lost)]

    assert mcnemar(won, lost) == pytest.approx(len(apart) / len(falls))


def test_the_paired_test_is_the_same_either_way_round_and_holds_at_any_size() -> None:
    assert mcnemar(1, 8) == mcnemar(8, 1) == pytest.approx(20 / 512)
    assert 0 < mcnemar(900, 1100) < 0.0001
    assert mcnemar(0, 5000) == 0.0  # below the smallest float


def test_a_pair_counts_what_only_one_of_the_runs_met() -> None:
    change = paired([1, 1, 0, 0, 0, 1, 1, 1], [1, 0, 1, 1, 0, 1, 1, 1])

    assert (change.won, change.lost, change.difference.mean, change.p) == (2, 1, 0.125, 1.0)
    assert change.difference.low < 0 < change.difference.high
    same = paired([1, 0], [1, 0])
    assert (same.difference.low, same.difference.high, same.p) == (0, 0, 1)


@pytest.mark.parametrize("outcomes", [[], [2], [0, -1]])
def test_what_is_no_outcome_is_refused(outcomes: list[int]) -> None:
    with pytest.raises(ValueError, match="outcome"):
        share(outcomes)
    with pytest.raises(ValueError, match="outcome"):
        paired(outcomes, outcomes)
    with pytest.raises(ValueError, match="cannot be paired"):
        paired(outcomes, [*outcomes, 1])


def test_two_runs_are_compared_within_a_hundred_columns_all_then_by_category() -> None:
    first = [outcome(number, 5 if number < 10 else None, 1 + number % 2 * 3) for number in range(30)]
    second = [outcome(number, 6 if number == 0 else 3, 1 + number % 2 * 3) for number in range(29)]

    good, lines = printed(first, second)

    assert good
    assert lines[0] == "1 questions left out: only one of the runs asked them"
    assert [line.strip() for line in lines if "questions" in line][1:4] == [
        "all: 29 questions",
        "1 multi-hop: 15 questions",
        "4 single-hop: 14 questions",
    ]
    rows = [line.split() for line in lines if line.strip().startswith("any@5 ")]
    assert [[row[1], row[3], row[-3], row[-2]] for row in rows] == [
        [".345", ".966", "19", "1"],
        [".333", ".933", "10", "1"],
        [".357", "1.000", "9", "0"],
    ]
    assert any("<.0001" in line for line in lines)
    assert max(map(len, lines)) <= 100
    assert not any("…" in line for line in lines)


def test_a_certain_loss_fits_its_column() -> None:
    _, lines = printed([outcome(n, 1) for n in range(20_000)], [outcome(n, None) for n in range(20_000)])

    assert "-1.000 (-1.000,-1.000)" in "\n".join(lines)
    assert not any("…" in line for line in lines)


def test_runs_of_other_questions_cannot_be_compared() -> None:
    good, lines = printed([outcome(1, 1)], [outcome(2, 1)])

    assert not good
    assert lines == ["2 questions left out: only one of the runs asked them"]
