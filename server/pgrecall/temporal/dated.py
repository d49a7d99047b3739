"""The rules of days that are named by their number: `7 May`, `on the 15th`, and of full dates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from pgrecall.temporal import periods
from pgrecall.temporal.periods import DAY, Period
from pgrecall.temporal.rules import Said, Slots
from pgrecall.temporal.tense import Tense

FAR = 153 * DAY
"""Five months: a date without a year and a tense that is further off may be of either year."""
_YEARS_TO_A_LEAP_DAY = 8
"""Between 1896 and 1904 lie eight."""
_MONTHS_TO_A_31ST = 2


def date_by_tense(slots: Slots, said: Said) -> Period | None:
    """The latest up to the day, or the next from it; without a tense the nearest, unless that is far."""
    dates = _dates(slots["month"], slots["day"], said.on.year)
    match said.tense():
        case Tense.PAST:
            dates = [one for one in dates if one <= said.on]
        case Tense.FUTURE:
            dates = [one for one in dates if one >= said.on]
        case None:
            dates = [one for one in dates if abs(one - said.on) <= FAR]
    return _nearest(dates, said.on)


def date_of_year(slots: Slots, said: Said) -> Period | None:
    return periods.day(date(said.on.year + slots["shift"], slots["month"], slots["day"]))


def day_by_tense(slots: Slots, said: Said) -> Period | None:
    """`on the 15th`: the latest before the day, or the next after it."""
    match said.tense():
        case Tense.PAST:
            return day_before(said.on, slots["day"])
        case Tense.FUTURE:
            return day_after(said.on, slots["day"])
    return None


def day_of_month(slots: Slots, said: Said) -> Period | None:
    month = periods.month(said.on, slots["shift"])
    return periods.day(month.first.replace(day=slots["day"]))


def full_date(slots: Slots) -> Period:
    return periods.day(date(slots["year"], slots["month"], slots["day"]))


def week_of_date(slots: Slots, said: Said) -> Period | None:
    found = date_by_tense(slots, said)
    return found and periods.week(found.first)


def weekend_of_date(slots: Slots, said: Said) -> Period | None:
    found = date_by_tense(slots, said)
    return found and periods.weekend(found.first)


def day_before(of: date, number: int) -> Period | None:
    return _nearest((one for one in _days(number, of) if one < of), of)


def day_after(of: date, number: int) -> Period | None:
    return _nearest((one for one in _days(number, of) if one > of), of)


def _nearest(dates: Iterable[date], to: date) -> Period | None:
    nearest = min(dates, key=lambda one: abs(one - to), default=None)
    return None if nearest is None else periods.day(nearest)


def _dates(month: int, day: int, around: int) -> list[date]:
    """The dates of that name in the years around: 29 February is not in each."""
    years = range(around - _YEARS_TO_A_LEAP_DAY, around + _YEARS_TO_A_LEAP_DAY + 1)
    return [one for year in years if (one := _valid(year, month, day))]


def _days(day: int, around: date) -> list[date]:
    months = (periods.month(around, shift).first for shift in range(-_MONTHS_TO_A_31ST, _MONTHS_TO_A_31ST + 1))
    return [one for first in months if (one := _valid(first.year, first.month, day))]


def _valid(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
