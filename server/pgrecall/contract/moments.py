"""A moment that a call names: of a message's timestamp what is not understood is left out, here it is refused."""

from __future__ import annotations

from datetime import datetime

from pydantic_core import PydanticCustomError

from pgrecall.contract.timestamps import read_timestamp


def moment(value: object) -> datetime | None:
    """The moment in the zone it was written with; None where none is named. Raises PydanticCustomError."""
    if value is None:
        return None
    named = read_timestamp(value)
    if named is None:
        raise PydanticCustomError("moment", "must be a moment: Unix milliseconds or ISO 8601")
    return named
