"""The range of days that a reference answer names: `7 May 2023`, `June 2023`, `The week before 9 June 2023`."""

from __future__ import annotations

import re
from datetime import date

from pgrecall.temporal import periods
from pgrecall.temporal.periods import WEEK, Period

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {"": 1, "two": 2, "three": 3}
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"[,.]?\s*(?P<year>\d{4})"
_DATES = (re.compile(rf"{_DAY}\s*{_MONTH}{_YEAR}"), re.compile(rf"{_MONTH}\s*{_DAY}{_YEAR}"))
_ANSWER = re.compile(
    r"(?:the |on )?(?:(?P<count>two|three)? ?"
    rf"(?P<what>weekend|week|{'|'.join(_WEEKDAYS)})s? (?P<side>before|after|of) )?(?P<date>.+)"
)
_WHOLE_MONTH = re.compile(_MONTH + _YEAR)
_WHOLE_YEAR = re.compile(r"(?:in |since )?(?P<year>\d{4})")


def answered(answer: str) -> Period | None:
    """None where it names no such range. Annotators wrote `21Janury, 2022`: the first letters tell the month."""
    read = _ANSWER.fullmatch(answer.strip().lower().rstrip("."))
    if read is None:
        return None
    if (day := _day(read["date"])) is not None:
        return _beside(day, read["count"] or "", read["what"], read["side"])
    if read["what"] is None and (month := _WHOLE_MONTH.fullmatch(read["date"])):
        return periods.month_of(int(month["year"]), _MONTHS.index(month["month"]) + 1)
    if read["what"] is None and (year := _WHOLE_YEAR.fullmatch(read["date"])):
        return periods.year_of(int(year["year"]))
    return None


def _day(written: str) -> date | None:
    found = next((match for form in _DATES if (match := form.fullmatch(written))), None)
    if found is None:
        return None
    return date(int(found["year"]), _MONTHS.index(found["month"]) + 1, int(found["day"]))


def _beside(day: date, count: str, what: str | None, side: str | None) -> Period:
    """The nearest weekday, the calendar week, the last weekend that was over: before, or after, a day."""
    if what is None or side is None:
        return periods.day(day)
    shift = {"before": -_COUNTS[count], "of": 0, "after": _COUNTS[count]}[side]
    if what == "week":
        return periods.week(day + shift * WEEK)
    if what == "weekend":
        return periods.weekend(day, shift + (side == "after" and day.weekday() < periods.SATURDAY and -1))
    weekday = _WEEKDAYS.index(what)
    return (periods.weekday_after if side == "after" else periods.weekday_before)(day, weekday)
