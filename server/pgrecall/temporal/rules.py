"""What each rule of a grammar means, in calendar arithmetic: the same in every language.

A rule gets its slots, the numbers that the words stand for, and gives the period that is meant, or None where
that is in doubt. Slots: `shift` (-1 last, 0 this, 1 next), or `number` with a `sign` (-1 ago, 1 from now);
`weekday` 0 to 6 from Monday, `season` 0 to 3 from spring, `day`, `month`, `quarter`, `year` as they are said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from pgrecall.temporal import periods
from pgrecall.temporal.periods import SATURDAY, WINTER, Period
from pgrecall.temporal.tense import Tense

Slots = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Said:
    """When a sentence was said, and, for the rules that ask, in what tense."""

    on: date
    tense: Callable[[], Tense | None]


Rule = Callable[[Slots, Said], Period | None]


def shifted(period: Callable[[date, int], Period]) -> Rule:
    """`last week`, `two weeks ago`: the period that many before or after the one that holds the day."""
    return lambda slots, said: period(said.on, _shift(slots))


def _shift(slots: Slots) -> int:
    return slots["shift"] if "shift" in slots else slots["sign"] * slots["number"]


def not_past(rule: Rule) -> Rule:
    """`in two days`: in the past tense it is how long something took."""
    return lambda slots, said: None if said.tense() is Tense.PAST else rule(slots, said)


def future(rule: Rule) -> Rule:
    """`三天后`: without a future tense it counts from some other day."""
    return lambda slots, said: rule(slots, said) if said.tense() is Tense.FUTURE else None


def weekends_ago(slots: Slots, said: Said) -> Period | None:
    """Counted from the last one that was over before the day."""
    return periods.weekend(said.on, -slots["number"])


def this_weekend(slots: Slots, said: Said) -> Period | None:
    over = said.on.weekday() < SATURDAY and said.tense() is Tense.PAST
    return periods.weekend(said.on, -1 if over else 0)


def the_weekend(slots: Slots, said: Said) -> Period | None:
    """Without a tense it is any; on a Saturday or Sunday it may be this one or not."""
    doubtful = said.on.weekday() >= SATURDAY or said.tense() is None
    return None if doubtful else this_weekend(slots, said)


def next_weekend(slots: Slots, said: Said) -> Period | None:
    """From Monday to Friday some mean the coming one and some the one after it."""
    return periods.weekend(said.on, 1) if said.on.weekday() >= SATURDAY else None


def last_weekday(slots: Slots, said: Said) -> Period | None:
    return periods.weekday_before(said.on, slots["weekday"])


def next_weekday(slots: Slots, said: Said) -> Period | None:
    """In doubt where the first one to come is still of the running week."""
    coming = periods.weekday_after(said.on, slots["weekday"])
    return coming if coming.first > periods.week(said.on).last else None


def this_weekday(slots: Slots, said: Said) -> Period | None:
    """In doubt once it is over."""
    found = periods.weekday_of(periods.week(said.on), slots["weekday"])
    return found if found.first >= said.on else None


def coming_weekday(slots: Slots, said: Said) -> Period | None:
    found = this_weekday(slots, said)
    return found if found and found.first > said.on else None


def weekday_by_tense(slots: Slots, said: Said) -> Period | None:
    tense = said.tense()
    if tense is None:
        return None
    return (periods.weekday_before if tense is Tense.PAST else periods.weekday_after)(said.on, slots["weekday"])


def weekday_due(slots: Slots, said: Said) -> Period | None:
    """`by Friday`, `until Friday`: to come, unless all of it was."""
    past = said.tense() is Tense.PAST
    return (periods.weekday_before if past else periods.weekday_after)(said.on, slots["weekday"])


def weekday_of_week(slots: Slots, said: Said) -> Period | None:
    return periods.weekday_of(periods.week(said.on, _shift(slots)), slots["weekday"])


def month_by_tense(slots: Slots, said: Said) -> Period | None:
    """The running month is both the latest that has begun and the next that has not ended."""
    this = periods.month_of(said.on.year, slots["month"])
    match said.tense():
        case Tense.PAST:
            return this if this.first <= said.on else periods.month_of(said.on.year - 1, slots["month"])
        case Tense.FUTURE:
            return this if this.last >= said.on else periods.month_of(said.on.year + 1, slots["month"])
    return None


def month_of_year(slots: Slots, said: Said) -> Period | None:
    return periods.month_of(said.on.year + slots["shift"], slots["month"])


def last_month_named(slots: Slots, said: Said) -> Period | None:
    """`last May`: in doubt where this year's is over."""
    this = periods.month_of(said.on.year, slots["month"])
    return periods.month_of(said.on.year - 1, slots["month"]) if this.last >= said.on else None


def next_month_named(slots: Slots, said: Said) -> Period | None:
    """`next May`: in doubt where this year's is still to come."""
    this = periods.month_of(said.on.year, slots["month"])
    return periods.month_of(said.on.year + 1, slots["month"]) if this.first <= said.on else None


def last_season(slots: Slots, said: Said) -> Period | None:
    """In doubt where this year's is over."""
    this = this_season(slots, said)
    return None if this.last < said.on else periods.season_of(this.first.year - 1, slots["season"])


def this_season(slots: Slots, said: Said) -> Period:
    """In January and February the winter of `this` year is the one that began in the last."""
    begun_before = slots["season"] == WINTER and said.on.month < periods.SPRING_BEGINS
    return periods.season_of(said.on.year - begun_before, slots["season"])


def next_season(slots: Slots, said: Said) -> Period | None:
    """In doubt where this year's is still to come."""
    this = this_season(slots, said)
    return periods.season_of(this.first.year + 1, slots["season"]) if this.first <= said.on else None


def past_season(slots: Slots, said: Said) -> Period | None:
    """`this past summer`: the latest that is over."""
    this = this_season(slots, said)
    return this if this.last < said.on else periods.season_of(this.first.year - 1, slots["season"])


def season_of_year(slots: Slots, said: Said) -> Period | None:
    return periods.season_of(said.on.year + slots["shift"], slots["season"])


def quarter_of_year(slots: Slots, said: Said) -> Period | None:
    return periods.quarter_of(said.on.year + slots["shift"], slots["quarter"])
