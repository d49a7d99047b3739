"""Intervals, the paired test, the table and the picture of runs, checked by hand and by brute force."""

from __future__ import annotations

import io
import json
from itertools import pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import typer
from rich.console import Console

from ops.bench import picture
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


def light(colour: str) -> float:
    """Relative luminance as the web's guidelines define it, 0 to 1."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colour", [picture.INK, picture.ACCENT, *picture.COLOURS])
def test_a_colour_of_the_picture_stands_out_from_white_and_from_black(colour: str) -> None:
    assert 1.05 / (light(colour) + 0.05) >= 4
    assert (light(colour) + 0.05) / (light("#0d1117") + 0.05) >= 4


def test_names_beside_lines_keep_apart_and_within_the_plot() -> None:
    heights = picture.label_heights([100.0, 425.0, 105.0, 426.0, 300.0])

    assert heights[0] == 100
    assert heights[4] == 300
    assert [heights.index(height) for height in sorted(heights)] == [0, 2, 4, 1, 3]
    assert all(below - above >= picture.LABEL_GAP for above, below in pairwise(sorted(heights)))
    assert max(heights) <= picture.BOTTOM


def test_the_picture_names_each_run_with_its_figures(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    for path, rank in zip(paths, (None, 5), strict=True):
        path.write_text(json.dumps([outcome(1, 1), outcome(2, rank)]), encoding="utf-8")

    picture.main(tmp_path / "out.svg", paths, "dense & plain, pgrecall")

    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[-4:] == ["dense & plain 50.0%", "100.0%", "100.0%", "pgrecall 100.0%"]
    assert "any@k of 2 questions; shaded: 95% intervals" in texts


def test_runs_that_cannot_stand_in_one_picture_are_refused(tmp_path: Path) -> None:
    for name, question in (("a", 1), ("b", 2)):
        (tmp_path / name).write_text(json.dumps([outcome(question, 1)]), encoding="utf-8")
    both = [tmp_path / "a", tmp_path / "b"]

    with pytest.raises(typer.BadParameter, match="1 names for 2 runs"):
        picture.main(tmp_path / "out.svg", both, "one")
    with pytest.raises(typer.BadParameter, match="same questions"):
        picture.main(tmp_path / "out.svg", both, "one, two")
    with pytest.raises(typer.BadParameter, match="is no saved run"):
        picture.main(tmp_path / "out.svg", [tmp_path / "none"], "one")
