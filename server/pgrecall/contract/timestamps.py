"""When a message was said: numbers told apart by size, text by a small grammar; to the millisecond.

What is not understood leaves the message undated: a wrong date misleads a reader, a missing one does not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

LAST_MILLISECOND = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last that a datetime holds."""
_MILLISECONDS_FROM = 10**11
"""Below, seconds (until the year 5138): as milliseconds these end in March 1973."""
_MICROSECONDS = range(10**15, 8_640_000_000_000_000)
"""2001 to 2243. Milliseconds after the year 9999 lie below and above; 8.64e15 is JavaScript's last one."""
_NANOSECONDS = range(10**18, 8_640_000_000_000_000_000)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LONGEST_TEXT = 100
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {"z": 0, "ut": 0, "utc": 0, "gmt": 0} | {"est": -5, "cst": -6, "mst": -7, "pst": -8}
_ZONES |= {"edt": -4, "cdt": -5, "mdt": -6, "pdt": -7}
"""Hours from UTC; the zones of RFC 2822. These and the months are spelt out: strptime takes the locale's."""

_NUMBER = re.compile(r"\+?\d{1,20}(?:\.\d{1,20})?", re.ASCII)
_COMPACT = re.compile(r"((?:19|20|21)\d\d)(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d))?", re.ASCII)
"""20230520, 20230520140000: as seconds these are 1970, as milliseconds the years after 2571."""
_CJK_DATE = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日号號일]", re.ASCII)
_CJK_TIME = re.compile(r"(\d{1,2})\s?[点點时時]\s?(\d{1,2})\s?分", re.ASCII)
_CJK_HALVES = str.maketrans({"上": "am", "下": "pm", "午": " "})
_SAME = {"oclock": "hour", "name": "month", "long_year": "year", "short_day": "day"}
_TOKEN = re.compile(
    r"""
      (?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?=\D|$)
    | (?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?(?!\d)
    | (?P<oclock>\d{1,2})(?=\s?[ap]\.?m\b)
    | (?P<half>[ap])\.?m\b\.?
    | (?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?
        |sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?
    | (?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\b
    | (?P<zone>z|utc?|gmt|[ecmp][sd]t)\b
    | (?:(?<![a-z])|(?<=gmt)|(?<=utc))(?P<offset>[+-]\d{1,2}(?::?\d{2})?)(?!\d)
    | (?P<long_year>\d{4})(?!\d)
    | (?P<short_day>\d{1,2})(?:st|nd|rd|th)?(?=\W|$)
    | (?:on|at|of|the|t)(?=\W|\d|$)
    | \([^()]*\)
    | [\s,]+
    | -(?=[a-z\d])
    """,
    re.VERBOSE | re.ASCII,
)


def read_timestamp(value: object) -> datetime | None:
    """In the zone it was written with, else UTC; None where `value` dates nothing: missing, negative, boolean, NaN,
    past 9999, not a date."""
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _from_number(value)


def _from_number(value: float) -> datetime | None:
    if value < 0 or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if value < _MILLISECONDS_FROM:
        milliseconds = round(value * 1000)
    elif value <= LAST_MILLISECOND:
        milliseconds = int(value)
    elif int(value) in _MICROSECONDS:
        milliseconds = int(value) // 1000
    elif int(value) in _NANOSECONDS:
        milliseconds = int(value) // 1_000_000
    else:
        return None
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _from_text(text: str) -> datetime | None:
    text = unicodedata.normalize("NFKC", text[: _LONGEST_TEXT + 1]).strip().casefold()
    if not 0 < len(text) <= _LONGEST_TEXT:
        return None
    try:
        if compact := _COMPACT.fullmatch(text):
            year, month, day, hour, minute, second = map(int, compact.groups("0"))
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        if _NUMBER.fullmatch(text):
            return _from_number(float(text) if "." in text else int(text))
        return _zoned(_iso(text) or _from_tokens(text))
    except (ValueError, OverflowError):  # 30 February, 25:00, a zone that leads out of the years 1 to 9999
        return None


def _zoned(moment: datetime) -> datetime:
    """Without a zone it is UTC. Raises OverflowError where UTC has no such year."""
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    zoned.astimezone(UTC)
    return zoned.replace(microsecond=zoned.microsecond // 1000 * 1000)


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None


def _from_tokens(text: str) -> datetime:
    """A date and perhaps a time and a zone, in any order: `1:56 pm on 8 May, 2023`, RFC 2822, a browser's
    `Sat May 20 2023 14:00:00 GMT+0200 (CEST)`. 3/4/2023 is two dates in two countries: not read.

    Raises ValueError.
    """
    text = _CJK_TIME.sub(r"\1:\2", _CJK_DATE.sub(r"\1-\2-\3 ", text)).translate(_CJK_HALVES)
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError("not a date")
        new = {_SAME.get(part, part): said for part, said in token.groupdict().items() if said}
        if found.keys() & new.keys():
            raise ValueError("said twice")
        found |= new
        at = token.end()
    if not {"year", "month", "day"} <= found.keys():
        raise ValueError("no date")
    month = int(found["month"]) if found["month"].isdigit() else _MONTHS.index(found["month"][:3]) + 1
    minute, second = int(found.get("minute", "0")), int(found.get("second", "0"))
    fraction = int(found.get("fraction", "0").ljust(6, "0")[:6])
    return datetime(
        int(found["year"]), month, int(found["day"]), _hour(found), minute, second, fraction, _zone(found)
    )


def _hour(found: dict[str, str]) -> int:
    hour = int(found.get("hour", "0"))
    if "half" not in found:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("no such hour")
    return hour % 12 + (12 if found["half"] == "p" else 0)


def _zone(found: dict[str, str]) -> timezone:
    """`GMT+0200` is the offset: the name before it only says what it counts from."""
    if "offset" not in found:
        return timezone(timedelta(hours=_ZONES[found.get("zone", "utc")]))
    digits = found["offset"][1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if found["offset"][0] == "-" else offset)
