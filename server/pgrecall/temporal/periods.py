"""Calendar arithmetic: the day, week, month, season, quarter or year that holds a day, so many before or after.

All of it raises ValueError or OverflowError where it would leave the years 1 to 9999.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from pgrecall.temporal.expressions import Grain

DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)
SATURDAY, SUNDAY = 5, 6
WINTER = 3
"""Seasons are numbered from spring; winter belongs to the year in which it begins."""
SPRING_BEGINS = 3


@dataclass(frozen=True, slots=True)
class Period:
    """`first` and `last` are both part of it."""

    grain: Grain
    first: date
    last: date


def day(of: date, shift: int = 0) -> Period:
    of += shift * DAY
    return Period(Grain.DAY, of, of)


def week(of: date, shift: int = 0) -> Period:
    """From Monday to Sunday."""
    monday = of - of.weekday() * DAY + shift * WEEK
    return Period(Grain.WEEK, monday, monday + 6 * DAY)


def weekend(of: date, shift: int = 0) -> Period:
    """Saturday and Sunday of the week that holds `of`."""
    sunday = week(of, shift).last
    return Period(Grain.WEEKEND, sunday - DAY, sunday)


def last_weekend(of: date, count: int = 1) -> Period:
    """The `count`-th before `of` of those that were over by then."""
    return weekend(of, -count)


def month(of: date, shift: int = 0) -> Period:
    year, before = divmod(of.year * 12 + of.month - 1 + shift, 12)
    return _months(Grain.MONTH, year, before + 1, 1)


def quarter(of: date, shift: int = 0) -> Period:
    year, before = divmod(of.year * 4 + (of.month - 1) // 3 + shift, 4)
    return quarter_of(year, before + 1)


def year(of: date, shift: int = 0) -> Period:
    return year_of(of.year + shift)


def month_of(year: int, month: int) -> Period:
    return _months(Grain.MONTH, year, month, 1)


def quarter_of(year: int, quarter: int) -> Period:
    return _months(Grain.QUARTER, year, quarter * 3 - 2, 3)


def year_of(year: int) -> Period:
    return _months(Grain.YEAR, year, 1, 12)


def season_of(year: int, season: int) -> Period:
    """Northern, by whole months: spring begins with March."""
    return _months(Grain.SEASON, year, SPRING_BEGINS + 3 * season, 3)


def span(first: date, last: date) -> Period | None:
    return Period(Grain.SPAN, first, last) if first <= last else None


def weekday_of(period: Period, weekday: int) -> Period:
    """The day of a week; Monday is 0."""
    return day(period.first, weekday)


def weekday_before(of: date, weekday: int) -> Period:
    """The nearest one before `of`, which itself does not count."""
    return day(of, -((of.weekday() - weekday - 1) % 7 + 1))


def weekday_after(of: date, weekday: int) -> Period:
    """The nearest one after `of`, which itself does not count."""
    return day(of, (weekday - of.weekday() - 1) % 7 + 1)


def _months(grain: Grain, year: int, first_month: int, count: int) -> Period:
    first = date(year, first_month, 1)
    if (year, first_month + count) == (date.max.year, 13):  # nothing follows it that it could end before
        return Period(grain, first, date.max)
    years, before = divmod(first_month - 1 + count, 12)
    return Period(grain, first, date(year + years, before + 1, 1) - DAY)
