"""A text with the days its words mean written beside them: `yesterday [= 7 May 2023]`.

The wording stays as it is. What is written is never finer than what was said, and counts from no other date than
the one it names. It takes its language from the expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from pgrecall.temporal.expressions import ABSOLUTE, Grain, TimeExpression
from pgrecall.temporal.grammar import Language, languages

_NEEDS_NONE = frozenset({ABSOLUTE, "since"})


def annotated(text: str, expressions: Sequence[TimeExpression], said_on: date) -> str:
    """`text` with ` [= ...]` right after each expression that needs one. `expressions` are in order."""
    parts, read = [], 0
    for end, note in _notes(expressions, said_on):
        parts += [text[read:end], note]
        read = end
    return "".join([*parts, text[read:]])


def verbatim(annotated_text: str, expressions: Sequence[TimeExpression], said_on: date) -> str:
    """The text that `annotated` was given, with the same expressions and day.

    The notes are looked for where they must stand, so it matters not what the text itself has in brackets.
    Raises ValueError where they do not stand there.
    """
    parts, read, added = [], 0, 0
    for end, note in _notes(expressions, said_on):
        place = end + added
        if annotated_text[place : place + len(note)] != note:
            raise ValueError(f"no {note!r} at {place}: not the text that was annotated with these expressions")
        parts.append(annotated_text[read:place])
        read, added = place + len(note), added + len(note)
    return "".join([*parts, annotated_text[read:]])


def gloss(expression: TimeExpression, said_on: date) -> str | None:
    """What is written beside the expression, without the brackets; None where it would add nothing."""
    if expression.rule in _NEEDS_NONE:
        return None
    language = _language_of(expression.surface)
    template = language.gloss.get(expression.rule) or language.gloss[_shape(expression)]
    first, last = expression.first, expression.last
    season = (first.month - 3) // 3 % 4
    return template.format(
        first=_date(first, language),
        last=_date(last, language),
        said=_date(said_on, language),
        weekday=language.names["weekdays"][first.weekday()],
        season=language.names["seasons"][season],
        quarter=language.names["quarters"][(first.month - 1) // 3],
        **_parts(first, last, language),
    )


def _notes(expressions: Sequence[TimeExpression], said_on: date) -> Iterator[tuple[int, str]]:
    for expression in expressions:
        if (beside := gloss(expression, said_on)) is not None:
            yield expression.end, f" [= {beside}]"


def _shape(expression: TimeExpression) -> str:
    """The key of the template: the grain, or how much the two ends of a season or span have in common."""
    first, last = expression.first, expression.last
    same_year = first.year == last.year
    if expression.grain is Grain.SEASON:
        return "season" if same_year else "season_over_years"
    if expression.grain is not Grain.SPAN:
        return str(expression.grain)
    if expression.rule.endswith("months"):
        return "months_in_year" if same_year else "months_over_years"
    if (first.year, first.month) == (last.year, last.month):
        return "days_in_month"
    return "days_in_year" if same_year else "days_over_years"


def _date(day: date, language: Language) -> str:
    return language.gloss["date"].format(**_parts(day, day, language))


def _parts(first: date, last: date, language: Language) -> dict[str, str | int]:
    months = language.names["months"]
    return {
        "first_day": first.day, "month": months[first.month - 1], "year": first.year,
        "last_day": last.day, "last_month": months[last.month - 1], "last_year": last.year,
    }  # fmt: skip


def _language_of(surface: str) -> Language:
    """The first in whose grammar the words name a time."""
    lowered = surface.lower()
    known = (language for language in languages() if language.triggers.search(lowered))
    return next(known, languages()[0])
