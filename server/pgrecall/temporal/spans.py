"""The rules of spans, from one day to another, and of what lasts until the day on which it is said.

The other end's slots are `weekday2`, `day2`, `month2`, `year2`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from pgrecall.temporal import periods
from pgrecall.temporal.dated import FAR, day_after, day_before
from pgrecall.temporal.periods import Period, span
from pgrecall.temporal.rules import Said, Slots
from pgrecall.temporal.tense import Tense


def until_now(period: Callable[[date, int], Period]) -> Callable[[Slots, Said], Period | None]:
    """`seven years now`: from the first day of the period that many before."""
    return lambda slots, said: span(period(said.on, -slots["number"]).first, said.on)


def since(period: Period, on: date) -> Period | None:
    return span(period.first, on)


def weekdays(slots: Slots, said: Said) -> Period | None:
    """`between Monday and Wednesday`: the last or the next such, by tense."""
    match said.tense():
        case Tense.PAST:
            last = periods.weekday_before(said.on, slots["weekday2"]).first
            return span(periods.weekday_before(last, slots["weekday"]).first, last)
        case Tense.FUTURE:
            first = periods.weekday_after(said.on, slots["weekday"]).first
            return span(first, periods.weekday_after(first, slots["weekday2"]).first)
    return None


def days_of_week(slots: Slots, said: Said) -> Period | None:
    week = periods.week(said.on, slots["shift"])
    first, last = (periods.weekday_of(week, slots[end]) for end in ("weekday", "weekday2"))
    return span(first.first, last.last)


def days_by_tense(slots: Slots, said: Said) -> Period | None:
    """`from the 3rd to the 9th`."""
    match said.tense():
        case Tense.PAST:
            last = day_before(said.on, slots["day2"])
            first = last and day_before(last.first, slots["day"])
        case Tense.FUTURE:
            first = day_after(said.on, slots["day"])
            last = first and day_after(first.first, slots["day2"])
        case None:
            return None
    return span(first.first, last.last) if first and last else None


def days_of_month(slots: Slots, said: Said) -> Period | None:
    month = periods.month(said.on, slots["shift"]).first
    return span(month.replace(day=slots["day"]), month.replace(day=slots["day2"]))


def dates_by_tense(slots: Slots, said: Said) -> Period | None:
    """`from 28 December to 3 January`: the last that has begun or the next that has not ended, by tense; without
    one the nearest, unless that is far."""
    near = [found for shift in (-1, 0, 1) if (found := full_dates({**slots, "year": said.on.year + shift}))]
    match said.tense():
        case Tense.PAST:
            near = [one for one in near if one.first <= said.on]
        case Tense.FUTURE:
            near = [one for one in near if one.last >= said.on]
        case None:
            near = [one for one in near if abs(one.first - said.on) <= FAR]
    return min(near, key=lambda one: abs(one.first - said.on), default=None)


def full_dates(slots: Slots) -> Period | None:
    """Where only the end has a year, the start is in the same year or in the one before."""
    month, month2, day, day2 = slots["month"], slots.get("month2", slots["month"]), slots["day"], slots["day2"]
    turns = (month2, day2) < (month, day)
    if "month2" not in slots and turns:  # 9 to 3 July
        return None
    if "year2" in slots:
        last = date(slots["year2"], month2, day2)
        return span(date(slots.get("year", slots["year2"] - turns), month, day), last)
    return span(date(slots["year"], month, day), date(slots["year"] + turns, month2, day2))


def months_by_tense(slots: Slots, said: Said) -> Period | None:
    """`from May to July`."""
    near = [full_months({**slots, "year": said.on.year + shift}) for shift in (-1, 0, 1)]
    match said.tense():
        case Tense.PAST:
            return max((one for one in near if one and one.first <= said.on), key=lambda one: one.first)
        case Tense.FUTURE:
            return min((one for one in near if one and one.last >= said.on), key=lambda one: one.first)
    return None


def full_months(slots: Slots) -> Period | None:
    turns = slots["month2"] < slots["month"]
    last_year = slots.get("year2", slots.get("year", 0) + turns)
    first_year = slots.get("year", last_year - turns)
    return span(
        periods.month_of(first_year, slots["month"]).first, periods.month_of(last_year, slots["month2"]).last
    )


def years(slots: Slots) -> Period | None:
    return span(periods.year_of(slots["year"]).first, periods.year_of(slots["year2"]).last)
