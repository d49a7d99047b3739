"""Sentences with the times they name, as JSON lines, and how many of those are found.

A line: `text`, `written` (ISO 8601 with offset; the local date counts) and `expected`, a list of `surface`,
`grain`, `from` and `to` in the order of the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from pgrecall.temporal.expressions import TimeExpression
from pgrecall.temporal.finding import find


@dataclass(frozen=True, slots=True)
class Named:
    """An expression that a sentence is known to hold."""

    surface: str
    start: int
    grain: str
    first: date
    last: date

    def is_found_as(self, found: TimeExpression) -> bool:
        """The same days and grain; of the words it is enough that they overlap."""
        meant = (found.grain, found.first, found.last) == (self.grain, self.first, self.last)
        return meant and found.start < self.start + len(self.surface) and self.start < found.end


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    said_on: date
    expected: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How many expressions are expected, are found, and are both; and each sentence that went wrong."""

    expected: int
    found: int
    right: int
    wrong: tuple[str, ...]

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0


def sentences(path: Path) -> Iterator[Sentence]:
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        yield Sentence(
            entry["text"],
            datetime.fromisoformat(entry["written"]).date(),
            tuple(_named(entry["text"], entry["expected"])),
        )


def score(path: Path) -> Score:
    expected = found = right = 0
    wrong = []
    for sentence in sentences(path):
        made = find(sentence.text, sentence.said_on)
        hits = sum(any(one.is_found_as(other) for other in made) for one in sentence.expected)
        expected, found, right = expected + len(sentence.expected), found + len(made), right + hits
        if not hits == len(made) == len(sentence.expected):
            wrong.append(f"{sentence.said_on:%a %Y-%m-%d} {sentence.text} -> {_shown(made)}")
    return Score(expected, found, right, tuple(wrong))


def _named(text: str, expected: list[dict[str, str]]) -> Iterator[Named]:
    end = 0
    for one in expected:
        start = text.index(one["surface"], end)
        end = start + len(one["surface"])
        yield Named(
            one["surface"], start, one["grain"], date.fromisoformat(one["from"]), date.fromisoformat(one["to"])
        )


def _shown(found: tuple[TimeExpression, ...]) -> str:
    return (
        "; ".join(f"{one.surface} = {one.grain} {one.first} {one.last} ({one.rule})" for one in found) or "nothing"
    )
