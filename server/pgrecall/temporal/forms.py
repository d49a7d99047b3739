"""Ways of naming a time, found by the words they begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from pgrecall.temporal.rules import Slots

NUMBER = "0"
"""What stands for any number among the words that a form begins with."""
NUMBERS = ("1", "7", "15", "30", "100", "2023")
"""One of each kind: what one of them begins, another number of its digits may begin too."""
_OTHER = ("\N{REPLACEMENT CHARACTER}", "zzzz ")
"""What stands for a word that no form knows, and how it may stand there."""
_DIGITS = regex.compile(r"\d++")
Table = Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One way of naming a time."""

    name: str
    """What its expressions say they were found by."""
    rule: str
    expression: regex.Pattern[str]
    cased: bool
    """Matched as the text stands, not in lower case."""
    given: Slots
    """Slots that no word fills."""
    tables: Mapping[str, Table]
    """The words of each slot, which is a group of the expression."""
    capitals: Sequence[str]
    """Slots whose words begin with a capital."""

    def match(self, text: str, lowered: str, start: int) -> regex.Match[str] | None:
        found = self.expression.match(text if self.cased else lowered, start)
        return found if found and all(text[found.start(slot)].isupper() for slot in self.capitals) else None

    def read(self, match: regex.Match[str]) -> Slots:
        """What the words stand for; a slot whose words are not there is left out."""
        said = {slot: _value(word, table) for slot, table in self.tables.items() if (word := match[slot])}
        return {**self.given, **said}


class Forms:
    """Forms in the order of their say, by the two words they begin with.

    Which may begin with two words is tried on the words alone, once, and kept: most words that may begin a form
    begin none, and the next word tells so.
    """

    def __init__(
        self, forms: Sequence[tuple[Form, regex.Pattern[str]]], probes: Mapping[str, Sequence[str]]
    ) -> None:
        """Each with its expression freed of what must stand before it. `probes`: ways to go on after a word."""
        self._probes = probes
        self._free = dict(forms)
        self._begun = {word: tuple(form for form, free in forms if _may(free, word, probes)) for word in probes}
        self._followed: dict[tuple[str, str], tuple[Form, ...]] = {}

    def beginning(self, word: str, following: str) -> tuple[Form, ...]:
        """`following` stands one space after `word`, or is "" where another sign is between."""
        word = NUMBER if word.isdigit() else word
        if not following or word not in self._begun:
            return self._begun.get(word, ())
        following = NUMBER if following.isdigit() else following
        pair = word, following if following in self._probes else _OTHER[0]
        if pair not in self._followed:
            self._followed[pair] = self._try(*pair)
        return self._followed[pair]

    def _try(self, word: str, following: str) -> tuple[Form, ...]:
        firsts = NUMBERS if word == NUMBER else [word]
        probes = [f"{first} {probe}" for first in firsts for probe in self._probes.get(following, [_OTHER[1]])]
        return tuple(
            form
            for form in self._begun[word]
            if any(self._free[form].match(probe, partial=True) for probe in probes)
        )


def _may(expression: regex.Pattern[str], word: str, probes: Mapping[str, Sequence[str]]) -> bool:
    """Whether the expression may begin with the word; most are told by the word alone."""
    begun = word == NUMBER or expression.match(word, partial=True)
    return bool(begun) and any(expression.match(probe, partial=True) for probe in probes[word])


def _value(word: str, table: Table) -> int:
    return table[word] if word in table else int(_DIGITS.findall(word)[0])
