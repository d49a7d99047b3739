from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest

from pgrecall.contract import parse_json, read_add, read_search, render_json
from pgrecall.errors import InvalidRequest

NOT_JSON = [b"", b"  ", b"{", b"hello", b'{"a":}', b'{"a": 1} x', b'"\xff"', b"\xef\xbb\xbf", b"{'a': 1}"]


@pytest.mark.parametrize("body", NOT_JSON)
def test_body_that_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_json(body)
    assert refused.value.status == 422
    assert refused.value.reason.startswith("the body is not JSON")


def test_refusal_never_echoes_the_body() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_json(b'{"content": "my pin is 4711')
    assert "4711" not in str(refused.value)
    with pytest.raises(InvalidRequest) as refused:
        read_add({"request_id": {"secret": "4711"}, "user_id": "u", "session_id": "s", "messages": [1]})
    assert "4711" not in repr(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        (b'{"a": "one\ntwo\x00"}', {"a": "one\ntwo\x00"}),
        (b"[Infinity, -Infinity]", [float("inf"), float("-inf")]),
        ('{"a": "é"}'.encode("utf-16"), {"a": "é"}),
    ],
)
def test_body_is_read_beyond_the_standard(body: bytes, value: object) -> None:
    assert parse_json(body) == value


def test_nan_is_read() -> None:
    assert str(parse_json(b"NaN")) == "nan"


@pytest.mark.parametrize("body", [b"[" * 10_000 + b"]" * 10_000, b'{"messages":' * 100_000])
def test_deep_nesting_is_refused_and_does_not_crash(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_json(body)


def nested(depth: int) -> bytes:
    content = "[" * depth + '"hi"' + "]" * depth
    sent = '{"request_id":"r","user_id":"u","session_id":"s","messages":[{"content":'
    return (sent + content + "}]}").encode()


def test_nested_content_is_understood() -> None:
    assert read_add(parse_json(nested(100))).messages[0].content == "hi"


@pytest.mark.parametrize("depth", range(150, 1000, 25))
def test_content_nested_to_the_brink_crashes_nothing(depth: int) -> None:
    with suppress(InvalidRequest):
        assert read_add(parse_json(nested(depth))).messages[0].content == "hi"


def test_integers_beyond_python_s_limit_are_understood() -> None:
    digits = "9" * 5000
    body = f'{{"user_id": "u", "query": {digits}, "top_k": {digits}}}'.encode()
    call = read_search(parse_json(body))
    assert call.query == digits
    assert call.top_k > 10**600
    assert read_search(parse_json(b'{"user_id": "u", "top_k": -%s}' % digits.encode())).top_k == 0


def test_integer_beyond_python_s_limit_is_no_id() -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_search(parse_json(b'{"user_id": %s}' % (b"9" * 5000)))
    assert refused.value.field == "user_id"


def test_a_body_of_32_mib_is_read_quickly() -> None:
    text = "word \\u0000\\r\\n data:a/" * 1_500_000
    body = f'{{"request_id":"r","user_id":"u","session_id":"s","messages":["{text}", {{"x": "{text}"}}]}}'
    start = time.monotonic()
    call = read_add(parse_json(body.encode()))
    assert len(call.messages) == 1
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("payload", [None, [], "text", 1, True])
def test_body_must_be_an_object(payload: object) -> None:
    for read in (read_add, read_search):
        with pytest.raises(InvalidRequest, match="must be a JSON object"):
            read(payload)


def test_answer_holds_lone_surrogates() -> None:
    answer = {"user_id": "\ud800 é 小 \x00"}
    assert json.loads(render_json(answer)) == answer


def test_answer_never_holds_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        render_json({"score": float("nan")})
