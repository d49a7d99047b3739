"""Stories of change: how well chains, patterns, questions and withholding follow them.

The figures are those of stories that were open while the rules were written; `ops.bench.stories` prints them all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.bench.stories import Measures, load, score

OPEN = Path(__file__).parents[1] / "stories" / "open.jsonl"


@pytest.fixture(scope="module")
def measures() -> Measures:
    return score(load(OPEN))


@pytest.mark.parametrize(
    ("measure", "least"),
    [
        ("chains", 0.95),
        ("subjects of chains", 1.0),
        ("patterns: precision", 1.0),
        ("patterns: reach", 0.65),
        ("wanted: current", 0.95),
        ("asked: current", 0.9),
        ("wanted: dated", 0.95),
        ("wanted: history", 0.98),
        ("wanted: change", 0.98),
        ("wanted: event", 0.98),
        ("wanted: doubtful", 0.98),
        ("model: current: nothing lost", 0.98),
        ("model: current: no other value stays", 0.95),
        ("model: dated: nothing lost", 0.95),
        ("model: dated: no other value stays", 0.9),
        *(
            (f"{source}: {kind}: {measure}", 0.98)
            for source in ("model", "patterns")
            for kind in ("history", "change", "relative", "event", "doubtful")
            for measure in ("nothing lost", "nothing withheld")
        ),
        ("patterns: current: nothing lost", 0.98),
        ("patterns: dated: nothing lost", 0.98),
    ],
)
def test_stories_are_followed(measures: Measures, measure: str, least: float) -> None:
    assert measures[measure].share >= least, measures[measure].wrong
