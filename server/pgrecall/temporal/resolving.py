"""The names by which a grammar calls the rules, and the one place where their failures end."""

from __future__ import annotations

from collections.abc import Callable

from pgrecall.temporal import dated, periods, rules, spans
from pgrecall.temporal.periods import Period
from pgrecall.temporal.rules import Rule, Said, Slots, shifted

RELATIVE: dict[str, Rule] = {
    "day": shifted(periods.day),
    "week": shifted(periods.week),
    "month": shifted(periods.month),
    "quarter": shifted(periods.quarter),
    "year": shifted(periods.year),
    "day_ahead": rules.not_past(shifted(periods.day)),
    "week_ahead": rules.not_past(shifted(periods.week)),
    "month_ahead": rules.not_past(shifted(periods.month)),
    "year_ahead": rules.not_past(shifted(periods.year)),
    "day_to_come": rules.future(shifted(periods.day)),
    "week_to_come": rules.future(shifted(periods.week)),
    "month_to_come": rules.future(shifted(periods.month)),
    "year_to_come": rules.future(shifted(periods.year)),
    "weekends_ago": rules.weekends_ago,
    "this_weekend": rules.this_weekend,
    "the_weekend": rules.the_weekend,
    "next_weekend": rules.next_weekend,
    "weekend_of_week": shifted(periods.weekend),
    "weekend_of_date": dated.weekend_of_date,
    "week_of_date": dated.week_of_date,
    "last_weekday": rules.last_weekday,
    "next_weekday": rules.next_weekday,
    "this_weekday": rules.this_weekday,
    "coming_weekday": rules.coming_weekday,
    "weekday_by_tense": rules.weekday_by_tense,
    "weekday_due": rules.weekday_due,
    "weekday_of_week": rules.weekday_of_week,
    "month_by_tense": rules.month_by_tense,
    "month_of_year": rules.month_of_year,
    "last_month_named": rules.last_month_named,
    "next_month_named": rules.next_month_named,
    "last_season": rules.last_season,
    "this_season": rules.this_season,
    "next_season": rules.next_season,
    "past_season": rules.past_season,
    "season_of_year": rules.season_of_year,
    "quarter_of_year": rules.quarter_of_year,
    "date_by_tense": dated.date_by_tense,
    "date_of_year": dated.date_of_year,
    "day_by_tense": dated.day_by_tense,
    "day_of_month": dated.day_of_month,
    "days_until_now": spans.until_now(periods.day),
    "weeks_until_now": spans.until_now(periods.week),
    "months_until_now": spans.until_now(periods.month),
    "years_until_now": spans.until_now(periods.year),
    "span_of_weekdays": spans.weekdays,
    "span_of_week": spans.days_of_week,
    "span_of_days": spans.days_by_tense,
    "span_of_month": spans.days_of_month,
    "span_of_dates": spans.dates_by_tense,
    "span_of_months": spans.months_by_tense,
}

ABSOLUTE: dict[str, Callable[[Slots], Period | None]] = {
    "full_date": dated.full_date,
    "full_month": lambda slots: periods.month_of(slots["year"], slots["month"]),
    "full_season": lambda slots: periods.season_of(slots["year"], slots["season"]),
    "full_quarter": lambda slots: periods.quarter_of(slots["year"], slots["quarter"]),
    "full_year": lambda slots: periods.year_of(slots["year"]),
    "full_span_of_dates": spans.full_dates,
    "full_span_of_months": spans.full_months,
    "full_span_of_years": spans.years,
    "week_of_full_date": lambda slots: periods.week(dated.full_date(slots).first, slots.get("shift", 0)),
    "weekend_of_full_date": lambda slots: periods.weekend(dated.full_date(slots).first),
    "weekend_before_full_date": lambda slots: periods.last_weekend(dated.full_date(slots).first),
    "weekday_before_full_date": lambda slots: periods.weekday_before(
        dated.full_date(slots).first, slots["weekday"]
    ),
    "weekday_after_full_date": lambda slots: periods.weekday_after(dated.full_date(slots).first, slots["weekday"]),
}

NOTHING = "nothing"
"""The rule of words that look like a time and name none: `every Friday`, `the week before`."""


def resolved(rule: str, slots: Slots, said: Said | None) -> Period | None:
    """The period that is meant; None also where it leaves the years 1 to 9999 or is no date, as 30 February."""
    try:
        if rule in ABSOLUTE:
            return ABSOLUTE[rule](slots)
        return RELATIVE[rule](slots, said) if said is not None and rule != NOTHING else None
    except (ValueError, OverflowError):
        return None
