"""The times that a question names: it asks for what was said of them, or on them."""

from __future__ import annotations

from datetime import date

from pgrecall.temporal.expressions import TimeExpression
from pgrecall.temporal.finding import Reading, apart, in_lower_case, unglossed, unquoted
from pgrecall.temporal.grammar import Language, languages
from pgrecall.temporal.tense import Tense

_NEAR = 40
"""Characters beside a time that may say that what lies before or after it is asked for."""


def asked(question: str, as_of: date | None) -> tuple[TimeExpression, ...]:
    """Those that can be resolved against `as_of`, in order; none of a question for what was `before July 2023`.

    Questions are about the past unless they show another tense: a month without a year is the latest begun.
    Without `as_of` only full dates are found.
    """
    lowered = in_lower_case(question)
    found: list[TimeExpression] = []
    for language in languages():
        reading = Reading(language, question, lowered, as_of, Tense.PAST)
        own = apart([*reading.expressions(language.asking), *reading.expressions(language.telling)])
        found += [one for one in own if not _bounds(language, lowered, one)]
    return apart(unglossed(question, unquoted(question, found)))


def _bounds(language: Language, lowered: str, expression: TimeExpression) -> bool:
    before, after = language.bounds
    start, end = expression.start, expression.end
    return bool(before.search(lowered[max(0, start - _NEAR) : start]) or after.search(lowered[end : end + _NEAR]))
