"""The time expressions of a text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice

import regex

from pgrecall.temporal.expressions import ABSOLUTE, Grain, TimeExpression
from pgrecall.temporal.forms import Form, Forms
from pgrecall.temporal.grammar import Language, languages
from pgrecall.temporal.periods import Period, span
from pgrecall.temporal.resolving import ABSOLUTE as ABSOLUTE_RULES
from pgrecall.temporal.resolving import NOTHING, resolved
from pgrecall.temporal.rules import Said, Slots
from pgrecall.temporal.tense import Tense, Tenses

SINCE = "since"
"""The rule of what lasts since a date that is given in full; `since_day` and so on of any other."""
_QUOTED = regex.compile(
    r"\"[^\"\n]{1,80}+\"|“[^”\n]{1,80}+”|《[^》\n]{1,80}+》|「[^」\n]{1,80}+」|『[^』\n]{1,80}+』"
)
_NOTE = regex.compile(r" ?\[= ([^\[\]\n]{1,100}+)\]")
"""What annotating.py writes beside an expression, in a text that someone pasted back."""
MOST_TRIED = 2_500
"""Words of one text that are tried as the beginning of an expression: a book has fewer, a trap more."""


def find(text: str, said_on: date | None) -> tuple[TimeExpression, ...]:
    """Those that can be resolved without doubt, in order, none overlapping another.

    `said_on` is the local date on which the text was said; without one only full dates are found.
    """
    lowered = in_lower_case(text)
    found = [
        expression
        for language in languages()
        for expression in Reading(language, text, lowered, said_on).expressions(language.telling)
    ]
    return apart(unglossed(text, unquoted(text, found)))


def in_lower_case(text: str) -> str:
    """Character for character: the one letter that is longer in lower case stays."""
    lowered = text.lower()
    return (
        lowered
        if len(lowered) == len(text)
        else "".join(low if len(low := char.lower()) == 1 else char for char in text)
    )


class Reading:
    """One text, read by the grammar of one language. `usual` is the tense where the text shows none."""

    def __init__(
        self, language: Language, text: str, lowered: str, said_on: date | None, usual: Tense | None = None
    ) -> None:
        self._language = language
        self._text = text
        self._lowered = lowered
        self._said_on = said_on
        self._usual = usual
        self._tenses = Tenses(lowered, language.signs)

    def expressions(self, forms: Forms) -> Iterator[TimeExpression]:
        """In order, not overlapping."""
        end = 0
        for start, candidates in islice(self._openings(forms), MOST_TRIED):
            if start < end:
                continue
            for form in candidates:
                if match := form.match(self._text, self._lowered, start):
                    end = match.end()
                    if found := self._resolved(form, match):
                        end = max(end, found.end)
                        yield found
                    break

    def _openings(self, forms: Forms) -> Iterator[tuple[int, Sequence[Form]]]:
        """Where a form may begin: shortly before a trigger, or with it."""
        read = 0
        for trigger in self._language.triggers.finditer(self._lowered):
            nearby = max(read, trigger.start() - self._language.reach)
            read = max(read, trigger.end())
            for opener in self._language.openers.finditer(self._lowered, nearby, read):
                if candidates := forms.beginning(opener[1], opener[2] or ""):
                    yield opener.start(), candidates

    def _resolved(self, form: Form, match: regex.Match[str]) -> TimeExpression | None:
        if form.rule == NOTHING:
            return None
        slots, start, end = form.read(match), match.start(), match.end()
        if since := self._since(form, slots, start, end):
            return since
        said = None
        if self._said_on is not None:
            said = Said(self._said_on, lambda: self._tenses.at(start, end) or self._usual)
        period = resolved(form.rule, slots, said)
        name = ABSOLUTE if form.rule in ABSOLUTE_RULES else form.name
        return self._expression(start, end, period, name) if period else None

    def _since(self, form: Form, slots: Slots, start: int, end: int) -> TimeExpression | None:
        """`since May`: from then to the day on which it is said. None where it is no such thing."""
        for before, after in self._language.since:
            head = before.search(self._lowered, max(0, start - self._language.reach), start)
            tail = head and after.match(self._lowered, end)
            if self._said_on and head and tail:
                begun = resolved(form.rule, slots, Said(self._said_on, lambda: Tense.PAST))
                period = begun and begun.grain is not Grain.SPAN and span(begun.first, self._said_on)
                if begun and period:
                    name = SINCE if form.rule in ABSOLUTE_RULES else f"{SINCE}_{begun.grain}"
                    return self._expression(head.start(), tail.end(), period, name)
        return None

    def _expression(self, start: int, end: int, period: Period, rule: str) -> TimeExpression:
        return TimeExpression(self._text[start:end], start, period.grain, period.first, period.last, rule)


def apart(found: Iterable[TimeExpression]) -> tuple[TimeExpression, ...]:
    """In order; of two that overlap the one that begins first, or is longer."""
    kept: list[TimeExpression] = []
    for expression in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or expression.start >= kept[-1].end:
            kept.append(expression)
    return tuple(kept)


def unquoted(text: str, found: Sequence[TimeExpression]) -> Sequence[TimeExpression]:
    """Without what stands in quotation marks: titles, and what others said on other days."""
    if not found:
        return found
    ends = {match.start(): match.end() for match in _QUOTED.finditer(text)}
    starts = sorted(ends)
    return [
        one
        for one in found
        if not (before := bisect_right(starts, one.start)) or ends[starts[before - 1]] <= one.start
    ]


def unglossed(text: str, found: Sequence[TimeExpression]) -> Sequence[TimeExpression]:
    """Without what has its note already, `yesterday [= 7 May 2023]`: it was said on another day. Of a note the full
    date that it begins with is read, and no more: in `the week before 9 June 2023` no day of June is meant."""
    notes = list(_NOTE.finditer(text)) if found else []
    if not notes:
        return found
    starts = [note.start() for note in notes]

    def stands(one: TimeExpression) -> bool:
        last = bisect_left(starts, one.end)
        if last < len(notes) and starts[last] == one.end:
            return False
        before = bisect_right(starts, one.start) - 1
        note = notes[before] if before >= 0 else None
        if note is None or note.end() <= one.start:
            return True
        return one.rule == ABSOLUTE and one.start == note.start(1)

    return [one for one in found if stands(one)]
