"""JSON as clients send it, read leniently, and JSON as we send it, written strictly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pgrecall.errors import InvalidRequest

ALWAYS_CONVERTED_DIGITS = 640
"""Python converts integers of this many digits at any setting; its own limit of 4,300 is adjustable."""

Shape = TypeVar("Shape", bound=BaseModel)


class LongInteger(str):
    """An integer too long to convert, as its digits."""

    __slots__ = ()


def _integer(digits: str) -> int | LongInteger:
    return int(digits) if len(digits) <= ALWAYS_CONVERTED_DIGITS else LongInteger(digits)


@contextmanager
def shallow() -> Iterator[None]:
    """Raise InvalidRequest where the block runs out of stack."""
    try:
        yield
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply") from None


def parse_json(body: bytes) -> object:
    """The value that `body` holds: UTF-8 (or UTF-16, UTF-32), with or without a byte order mark.

    Understood beyond the standard: NaN and Infinity, lone surrogates, raw control characters in strings,
    repeated keys (the last one counts). Raises InvalidRequest.
    """
    try:
        with shallow():
            value: object = json.loads(body, parse_int=_integer, strict=False)
    except UnicodeDecodeError:
        raise InvalidRequest("the body is not JSON: it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {_place(error)}") from None
    return value


def _place(error: json.JSONDecodeError) -> str:
    return f"line {error.lineno}, column {error.colno}" if error.doc.strip() else "it is empty"


def render_json(payload: object) -> bytes:
    """ASCII, so that a lone surrogate in an id survives as its escape. Raises ValueError on NaN."""
    return json.dumps(payload, allow_nan=False, separators=(",", ":")).encode("ascii")


def canonical_json(value: object) -> bytes:
    """The same bytes for the same value, whatever its key order and spacing were."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def read(shape: type[Shape], payload: object) -> Shape:
    """`payload` as `shape`. Raises InvalidRequest with the first field that is wrong; the reason says
    why and never quotes the payload.
    """
    if not isinstance(payload, dict):
        raise InvalidRequest("the body must be a JSON object")
    try:
        with shallow():
            return shape.model_validate(payload)
    except ValidationError as errors:
        error = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    if error["type"] == "extra_forbidden":  # its name is the caller's, and is not quoted
        raise InvalidRequest(f"a field is not known here; known are {', '.join(shape.model_fields)}")
    field = str(error["loc"][0])
    wrong = "is missing" if error["type"] == "missing" else error["msg"]
    raise InvalidRequest(f"{field} {wrong}", field=field)
