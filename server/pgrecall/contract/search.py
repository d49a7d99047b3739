"""POST /search: a question, as it comes and as it is understood."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema

from pgrecall.contract.cleaning import clean, is_blank
from pgrecall.contract.content import text_of
from pgrecall.contract.ids import Id
from pgrecall.contract.json_body import ALWAYS_CONVERTED_DIGITS, read
from pgrecall.contract.moments import moment
from pgrecall.contract.zones import local

DEFAULT_TOP_K = 100
MOST_OPTIONS = 64
INCLUDED = ("withheld",)
LONGEST_OPTION = 1000
"""Characters. Options lend topic words to one prompt: these bounds keep it small."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """One Search, understood."""

    user_id: str
    query: str
    """Clean; "" where there is none."""
    top_k: int
    """At least 0, where 0 asks for nothing; not yet capped."""
    options: tuple[str, ...]
    as_of: datetime | None = None
    """Only what had been said by then counts."""
    include: frozenset[str] = frozenset()
    """What more the answer shall say: withheld."""


def read_top_k(value: object) -> int:
    """At least 0; 100 where `value` is no whole number."""
    if isinstance(value, str):
        value = _number(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return DEFAULT_TOP_K
    return max(0, value)


def _number(text: str) -> int | float | None:
    """Of digits too long to convert only the size matters."""
    whole = re.fullmatch(r"\s*([+-]?)(\d+)\s*", text)
    if whole and len(whole[2]) > ALWAYS_CONVERTED_DIGITS:
        return -1 if whole[1] == "-" else 10**ALWAYS_CONVERTED_DIGITS
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return None


def _read_query(value: object) -> str:
    query = clean(text_of(value))
    return "" if is_blank(query) else query


def _read_options(value: object) -> tuple[str, ...]:
    options = list(value.values()) if isinstance(value, dict) else value
    texts = (clean(_option(option)) for option in (options if isinstance(options, list) else [options]))
    return tuple(text[:LONGEST_OPTION] for text in texts if not is_blank(text))[:MOST_OPTIONS]


def _option(option: object) -> str:
    if isinstance(option, dict):
        for key in ("content", "label"):
            if isinstance(said := option.get(key), str) and "text" not in option:
                return said
    return text_of(option)


def _read_include(value: object) -> frozenset[str]:
    names = value if isinstance(value, list) else [value]
    return frozenset(name for name in names if name in INCLUDED)


class SearchRequest(BaseModel):
    """A question about one user's log. The answer is the evidence, best first."""

    model_config = ConfigDict(
        hide_input_in_errors=True,
        json_schema_extra={
            "examples": [{"user_id": "u-1", "query": "What is my dog called?", "top_k": 20}],
        },
    )

    user_id: Id
    query: Annotated[
        str,
        PlainValidator(_read_query),
        WithJsonSchema(
            {"description": "The question, text or parts. Null, blank or only stop words: the newest memories."}
        ),
    ] = ""
    top_k: Annotated[
        int,
        PlainValidator(read_top_k),
        WithJsonSchema(
            {
                "description": "Most memories to return, capped by the server's return limit. 0 or negative: "
                "none. Text of a number is read; what is no whole number means 100."
            }
        ),
    ] = DEFAULT_TOP_K
    options: Annotated[
        tuple[str, ...],
        PlainValidator(_read_options),
        WithJsonSchema({"description": "Answer choices, used as topic words only: a list, or a single string."}),
    ] = ()
    as_of: Annotated[
        datetime | None,
        PlainValidator(moment),
        WithJsonSchema(
            {
                "description": "A moment, Unix milliseconds or ISO 8601: the answer is that of a server which had "
                "received nothing that was said later."
            }
        ),
    ] = None
    include: Annotated[
        frozenset[str],
        PlainValidator(_read_include),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "string", "enum": list(INCLUDED)},
                "description": "What more to answer. `withheld`: the memories that were left out because what they "
                "say was replaced, or did not hold at the date that is asked for (PGRECALL_WITHHOLD).",
            }
        ),
    ] = frozenset()


def read_search(payload: object, zone: tzinfo = UTC) -> SearchCall:
    """The call that `payload` makes; `zone`: of an `as_of` that bears none. Raises InvalidRequest."""
    request = read(SearchRequest, payload)
    as_of = request.as_of and local(request.as_of, None, zone)
    return SearchCall(request.user_id, request.query, request.top_k, request.options, as_of, request.include)
