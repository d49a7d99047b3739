"""Where a speaker's clock stands: IANA names and offsets from UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

_OFFSET = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE | re.ASCII)
_LONGEST_NAME = 64


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo | None:
    """The zone of an IANA name (`Europe/Berlin`) or an offset (`+02:00`, `UTC+2`); None where it is neither, as
    `+5:99` is."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME:
        return None
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes)) if minutes < 24 * 60 else None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, no path inside the database, a folder of it
        return None


def local(moment: datetime, zone: tzinfo | None, default: tzinfo) -> datetime:
    """`moment` by its speaker's clock, with an offset of whole minutes: by `zone`, else by the offset it was
    written with, else by `default`. An offset of 0 says no more than how the moment was written down.
    """
    written = moment.utcoffset()
    if zone is None:
        zone = moment.tzinfo if written else default
    try:
        offset = moment.astimezone(zone).utcoffset() or timedelta()
        return moment.astimezone(timezone(timedelta(minutes=round(offset.total_seconds() / 60))))
    except (ValueError, OverflowError):  # the years 1 and 9999 end there
        return moment.astimezone(UTC)
