"""Ids: any text but the empty one, of any length, kept and echoed exactly as sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError


def read_id(value: object) -> str:
    """`value`, exactly. Strings only: 7 and "7" would otherwise be one user."""
    if type(value) is not str or not value:  # an exact type: a LongInteger was sent as a number
        raise PydanticCustomError("id", "must be a non-empty string")
    return value


Id = Annotated[
    str,
    # Not pydantic's own string check: it refuses lone surrogates.
    PlainValidator(read_id),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "description": "Any non-empty text of any length, echoed exactly.",
        }
    ),
]
