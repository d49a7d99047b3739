from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.contract import parse_json, read_add, read_search, render_json
from pgrecall.contract.cleaning import clean
from pgrecall.contract.timestamps import read_timestamp
from pgrecall.errors import InvalidRequest
from pgrecall.rendering import TOKENS_A_MEMORY, estimate_tokens, line

ANY_TEXT = st.text(st.characters(categories=None), max_size=30)  # lone surrogates too
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4)
)
PART_KEYS = st.sampled_from(
    ["type", "text", "image_url", "alt", "file", "function", "name", "arguments", "input", "content"]
)
PART_TYPES = st.sampled_from(["text", "image_url", "input_audio", "file", "tool_use", "tool_result"])
PARTS = st.dictionaries(PART_KEYS, PART_TYPES | JSON, max_size=4)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": JSON,
        "content": JSON | PARTS | st.lists(PARTS, max_size=3),
        "name": JSON,
        "timestamp": JSON,
        "tool_calls": JSON | st.lists(PARTS, max_size=2),
        "function_call": JSON | PARTS,
        "unknown": JSON,
    },
)
IDS = ANY_TEXT.filter(bool)
ADD = st.fixed_dictionaries(
    {
        "request_id": IDS,
        "user_id": IDS,
        "session_id": IDS,
        "messages": st.lists(MESSAGE | JSON, min_size=1, max_size=4),
    }
)


@given(JSON | ADD)
def test_any_payload_is_understood_or_refused_as_invalid(payload: object) -> None:
    for read in (read_add, read_search):
        with suppress(InvalidRequest):
            read(payload)


@given(st.binary(max_size=50) | ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_body_is_parsed_or_refused_as_invalid(body: bytes) -> None:
    with suppress(InvalidRequest):
        parse_json(body)


@given(st.fixed_dictionaries({"user_id": IDS}, optional={"query": JSON, "top_k": JSON, "options": JSON}))
def test_any_search_of_a_user_is_understood(payload: dict[str, Any]) -> None:
    call = read_search(payload)
    assert call.user_id == payload["user_id"]
    assert call.top_k >= 0
    for text in (call.query, *call.options):
        assert "\x00" not in text.encode().decode()


@given(ADD)
def test_what_is_kept_can_be_stored_and_read(payload: dict[str, Any]) -> None:
    for message in read_add(payload).messages:
        assert message.content.strip()
        assert message.role.strip()
        assert len(message.speaker.splitlines()) == 1
        rendered = line(message.occurred_at, message.speaker, message.content)
        for text in (message.content, message.role, message.speaker, rendered):
            assert "\x00" not in text.encode().decode()


@given(ADD)
def test_ids_come_back_exactly(payload: dict[str, Any]) -> None:
    call = read_add(parse_json(json.dumps(payload).encode()))
    answer = render_json({"request_id": call.request_id, "user_id": call.user_id, "session_id": call.session_id})
    assert json.loads(answer) == {name: payload[name] for name in ("request_id", "user_id", "session_id")}


def shuffled(value: Any, chance: random.Random) -> Any:
    """`value` with the keys of all its objects in another order."""
    if isinstance(value, list):
        return [shuffled(part, chance) for part in value]
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return value


@given(ADD, st.randoms(use_true_random=False), st.sampled_from([None, 1, 7]))
def test_digest_ignores_key_order_spacing_and_unknown_fields(
    payload: dict[str, Any], chance: random.Random, indent: int | None
) -> None:
    other = shuffled(payload, chance) | {"trace": chance.random()}
    for message in other["messages"]:
        if isinstance(message, dict):
            message["trace"] = chance.random()
    body = json.dumps(other, indent=indent).encode()
    assert read_add(parse_json(body)).body_digest == read_add(payload).body_digest


@given(ADD, ANY_TEXT, ANY_TEXT)
def test_digest_changes_with_the_content(payload: dict[str, Any], one: str, two: str) -> None:
    digests = {
        read_add(payload | {"messages": [{"content": text}, *payload["messages"]]}).body_digest
        for text in (one, two)
    }
    assert len(digests) == len({one, two})


@given(ANY_TEXT)
def test_cleaning_is_idempotent_and_encodable(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not set(cleaned.encode()) & ({*range(32), 127} - {9, 10})


@given(JSON)
def test_any_timestamp_is_a_moment_in_utc_or_none(value: object) -> None:
    moment = read_timestamp(value)
    assert moment is None or (moment.utcoffset() is not None and moment.microsecond % 1000 == 0)


@given(st.integers(10**11, 253_402_300_799_999))
def test_milliseconds_are_kept_exactly(milliseconds: int) -> None:
    moment = read_timestamp(milliseconds)
    assert moment is not None
    assert read_timestamp(moment.isoformat()) == moment
    seconds = moment.replace(microsecond=0).timestamp()
    assert int(seconds) * 1000 + moment.microsecond // 1000 == milliseconds


@given(st.text(alphabet="0123456789:-/., +TZamp年月日MayJunth", max_size=30))
@settings(max_examples=500)
def test_almost_a_date_never_raises(text: str) -> None:
    read_timestamp(text)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_estimate_grows_with_the_text(one: str, two: str) -> None:
    parts, whole = estimate_tokens(one) + estimate_tokens(two), estimate_tokens(one + two)
    assert max(estimate_tokens(one), estimate_tokens(two)) <= whole <= parts - TOKENS_A_MEMORY
    assert whole >= parts - TOKENS_A_MEMORY - 1
