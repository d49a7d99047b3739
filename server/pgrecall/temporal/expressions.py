"""What a time expression is. Pure, and the same for every language."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date


class Grain(enum.StrEnum):
    """How exact an expression is; what is written beside it is never finer."""

    DAY = "day"
    WEEK = "week"
    WEEKEND = "weekend"
    MONTH = "month"
    SEASON = "season"
    QUARTER = "quarter"
    YEAR = "year"
    SPAN = "span"


ABSOLUTE = "absolute"
"""The rule of what needs no reference: `7 May 2023` means the same whenever it is said."""


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """Words that name a time, where they stand, and the days they mean."""

    surface: str
    start: int
    grain: Grain
    first: date
    last: date
    """Inclusive, like `first`."""
    rule: str

    @property
    def end(self) -> int:
        return self.start + len(self.surface)
