"""Libraries that resolve dates said in words beside our grammar, on the open sets and on lines without a date.

    python -m ops.bench.date_libraries tests/dates

They get every benefit: a past or a future reading may be the right one, a grain they name is widened to the whole
week, month or year, and times of day never count against them. The open sets are those our grammar was written on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from functools import cache
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from timeit import timeit
from typing import Any

import typer

from ops.bench.date_sets import sentences
from pgrecall.temporal import periods
from pgrecall.temporal.finding import find

Hit = tuple[int, int, date, date]
"""Where it stands in the text, first and last day; another of the same place is another reading."""
Reader = Callable[[str, datetime, str, str], Iterator[Hit]]
GRAINS = {"week": periods.week, "month": periods.month, "year": periods.year}
CLOCK = re.compile(r"(and )?now|现在|.*(\b(hour|minute|second)s?\b|\d ?[ap]m\b|小时|[点时]).*", re.IGNORECASE)


def pgrecall(text: str, now: datetime, _language: str, _tense: str) -> Iterator[Hit]:
    return ((one.start, one.end, one.first, one.last) for one in find(text, now.date()))


def dateparser(text: str, now: datetime, language: str, tense: str) -> Iterator[Hit]:
    search, end = import_module("dateparser.search").search_dates, 0
    settings = {"RELATIVE_BASE": now, "PREFER_DATES_FROM": tense}
    for surface, moment, grain in search(text, [language], settings=settings, add_period=True) or ():
        end = max(text.find(surface, end), end) + len(surface)
        period = GRAINS.get(grain, periods.day)(moment.date())
        yield end - len(surface), end, period.first, period.last


def parsedatetime(text: str, now: datetime, _language: str, tense: str) -> Iterator[Hit]:
    for moment, said, start, end, _ in _calendar(tense).nlp(text, now) or ():
        period = GRAINS.get({4: "week", 2: "month", 1: "year"}.get(said.accuracy, ""), periods.day)(moment.date())
        if said.hasDate:
            yield start, end, period.first, period.last


@cache
def _calendar(tense: str) -> Any:
    constants = (module := import_module("parsedatetime")).Constants("en_US", usePyICU=False)
    constants.DOWParseStyle, constants.YearParseStyle = (-1, 0) if tense == "past" else (1, 1)
    return module.Calendar(constants, version=module.VERSION_CONTEXT_STYLE)


def recognizers_text_date_time(text: str, now: datetime, language: str, _tense: str) -> Iterator[Hit]:
    recognize = import_module("recognizers_date_time").recognize_datetime
    for found in recognize(text, {"en": "en-us", "zh": "zh-cn"}[language], reference=now):
        for value in (found.resolution or {"values": ()})["values"]:
            first = _day(value.get("start") or value.get("value"))
            last = _day(value.get("end")) or (now.date() if "start" in value else first)
            if first and last and value["type"].startswith("date"):
                # most of its ranges end on the day after
                yield from ((found.start, found.end + 1, first, end) for end in (last, last - periods.DAY))


def jionlp(text: str, now: datetime, _language: str, _tense: str) -> Iterator[Hit]:
    module = import_module("jionlp")
    for found in module.ner.extract_time(module.tra2sim(text), time_base=now.timestamp()):
        first, last = map(_day, found["detail"]["time"]) if "delta" not in found["type"] else (None, None)
        if first and last:
            yield *found["offset"], first, last


def _day(said: object) -> date | None:
    return date.fromisoformat(said[:10]) if isinstance(said, str) and re.match(r"\d{4}(-\d\d){2}", said) else None


def compared(read: Reader, language: str, folder: Path) -> str:
    # Precision / recall by range and by first day, false hits, milliseconds for 100 characters.
    def hits(text: str, on: date, *tenses: str) -> list[Hit]:
        made = (hit for tense in tenses for hit in read(text, datetime.combine(on, time(12)), language, tense))
        return [hit for hit in made if not CLOCK.fullmatch(text[hit[0] : hit[1]])]

    lines = (folder / "plain.txt").read_text(encoding="utf-8").splitlines()
    plain = [line for line in lines if (re.search("[一-鿿]", line) is not None) == (language == "zh")]
    false = sum(len({hit[:2] for hit in hits(line, date(2023, 6, 7), "past")}) for line in plain)
    named = list(sentences(folder / {"en": "english_open.jsonl", "zh": "chinese_open.jsonl"}[language]))
    made = [hits(one.text, one.said_on, "past", "future") for one in named]
    seconds = timeit(lambda: [hits(one.text, one.said_on, "past") for one in named], number=1)
    found, near = sum(len({hit[:2] for hit in of}) for of in made), [
        (one, [hit[2:] for hit in of if hit[0] < one.start + len(one.surface) and one.start < hit[1]])
        for sentence, of in zip(named, made, strict=True) for one in sentence.expected
    ]  # fmt: skip
    right = sum((one.first, one.last) in days for one, days in near)
    begun = sum(any(one.first <= first <= one.last for first, _ in days) for one, days in near)
    shares = (f"{share / max(1, found):.2f} / {share / len(near):.2f}" for share in (right, begun))
    letters = sum(len(one.text) for one in named)
    return " | ".join((*shares, f"{false} in {len(plain)}", f"{seconds / letters * 100_000:.1f}"))


def main(folder: Path) -> None:
    typer.echo("| library | language | range | first day | false hits in lines | ms |\n" + "|---" * 6 + "|")
    installed = {"pgrecall": ""} | {one.name: one.version for one in distributions()}
    both = (pgrecall, dateparser, recognizers_text_date_time)
    for language, readers in {"en": (*both, parsedatetime), "zh": (*both, jionlp)}.items():
        for read in readers:
            name = read.__name__.replace("_", "-")
            cells = compared(read, language, folder) if name in installed else "not installed | | |"
            typer.echo(f"| {name} {installed.get(name, '')} | {language} | {cells} |")


if __name__ == "__main__":
    typer.run(main)
