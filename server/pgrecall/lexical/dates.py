"""Dates as terms: what is resolved in a message and what a question names meet there, whatever the words."""

from __future__ import annotations

from collections.abc import Iterable

from pgrecall.temporal.expressions import Grain, TimeExpression


def date_terms(expressions: Iterable[TimeExpression]) -> list[str]:
    """`@2023-05-07` for a day, `@2023-05` for a month, `@2023` for a year; what is of another grain has no term:
    the days it shares with others tell more (sql/search.sql, timely)."""
    terms = []
    for said in expressions:
        if said.grain is Grain.DAY:
            terms.append(f"@{said.first.isoformat()}")
        elif said.grain is Grain.MONTH:
            terms.append(f"@{said.first.isoformat()[:7]}")
        elif said.grain is Grain.YEAR and said.first.year == said.last.year:
            terms.append(f"@{said.first.year:04}")
    return terms
