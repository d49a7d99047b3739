"""Whether a sentence speaks of what was or of what will be: `on Friday` alone says neither."""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import regex


class Tense(enum.Enum):
    PAST = "past"
    FUTURE = "future"


READ = 16
"""Signs that are looked at on each side of an expression: a sentence of a thousand weekdays stays linear."""


class Mark(NamedTuple):
    """A sign of tense: `past`, `future`, `plan` (a present that speaks of what is to come: `we fly on Friday`),
    `habit`; or of where a clause (`turn`) or a sentence (`stop`) ends; or `nothing`, which only looks like one."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of a language: words and phrases by the word they open with, endings of words by their last two
    letters, each with its kind."""

    marks: regex.Pattern[str]
    """Its groups are kinds, but for `word`, which is looked up."""
    words: Mapping[str, str]
    phrases: Mapping[str, Sequence[tuple[regex.Pattern[str], str]]]
    endings: Mapping[str, str]

    def read(self, text: str) -> Iterator[Mark]:
        """In order; a phrase hides the words in it."""
        read = 0
        for match in self.marks.finditer(text):
            start, end, kind = match.start(), match.end(), match.lastgroup
            if start < read:
                continue
            if kind == "word":
                word = match[0].replace("’", "'")
                kind = self.words.get(word) or self.endings.get(word[-2:])
                for phrase, its_kind in self.phrases.get(word, ()):
                    if said := phrase.match(text, start):
                        end, kind = said.end(), its_kind
                        break
            if kind is not None and kind != "nothing":
                yield Mark(kind, start, end)
            read = end


class Tenses:
    """The signs of tense in one text, in lower case; read as far as an expression asks, which few do."""

    def __init__(self, text: str, signs: Signs) -> None:
        self._unread = signs.read(text)
        self._marks: list[Mark] = []
        self._starts: list[int] = []

    def at(self, start: int, end: int) -> Tense | None:
        """The tense of the clause that holds the expression; where that shows none, of the sentence."""
        self._read_beyond(end)
        here = bisect_left(self._starts, start)
        before = self._marks[max(0, here - READ) : here][::-1]
        after = [mark for mark in self._marks[here : here + READ] if mark.start >= end]
        clause = [*_until(before, {"stop", "turn"}), *_until(after, {"stop", "turn"})]
        if any(mark.kind == "habit" for mark in clause):
            return None
        return _told(clause, start, end) or _told([*_until(before, {"stop"}), *_until(after, {"stop"})], start, end)

    def _read_beyond(self, end: int) -> None:
        """To the end of the sentence, or READ signs further."""
        behind = len(self._marks) - bisect_left(self._starts, end)
        if behind >= READ or (behind and self._marks[-1].kind == "stop"):
            return
        for mark in self._unread:
            self._marks.append(mark)
            self._starts.append(mark.start)
            behind += mark.start >= end
            if behind >= READ or (behind and mark.kind == "stop"):
                return


def _until(marks: Iterable[Mark], kinds: set[str]) -> Iterator[Mark]:
    return takewhile(lambda mark: mark.kind not in kinds, marks)


def _told(marks: Sequence[Mark], start: int, end: int) -> Tense | None:
    """By the nearest sign; a plan counts where there is no other."""
    told = [mark for mark in marks if mark.kind in ("past", "future")]
    if told:
        return Tense(min(told, key=lambda mark: max(mark.start - end, start - mark.end)).kind)
    return Tense.FUTURE if any(mark.kind == "plan" for mark in marks) else None
