from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pgrecall.contract import AddRequest, read_add
from pgrecall.errors import InvalidRequest
from pgrecall.memory import Message

MAY_20 = datetime(2023, 5, 20, 14, tzinfo=UTC)
MS = 1684591200000


def payload(**changes: Any) -> dict[str, Any]:
    return {"request_id": "r", "user_id": "u", "session_id": "s", "messages": [{"content": "hi"}]} | changes


def only_message(entry: object) -> Message:
    (message,) = read_add(payload(messages=[entry])).messages
    return message


def test_message_is_understood() -> None:
    call = read_add(payload(messages=[{"role": "user", "content": "I ran.", "timestamp": MS}]))
    assert (call.request_id, call.user_id, call.session_id) == ("r", "u", "s")
    assert call.messages == (Message("user", "I", "I ran.", MAY_20, dated=True),)


def test_unknown_fields_are_ignored() -> None:
    extra = {"content": "hi", "mood": 1, "\ud800": None}
    call = read_add(payload(agent_id=7, **{"\ud800": 1}, messages=[extra]))
    assert call == read_add(payload())


@pytest.mark.parametrize("field", ["request_id", "user_id", "session_id"])
@pytest.mark.parametrize("value", [None, "", 7, 7.5, True, ["u"], {"id": "u"}])
def test_id_that_is_no_text_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_add(payload(**{field: value}))
    assert refused.value.field == field
    assert refused.value.reason == f"{field} must be a non-empty string"


@pytest.mark.parametrize("field", ["request_id", "user_id", "session_id", "messages"])
def test_missing_field_is_refused_by_name(field: str) -> None:
    sent = payload()
    del sent[field]
    with pytest.raises(InvalidRequest) as refused:
        read_add(sent)
    assert (refused.value.field, refused.value.reason) == (field, f"{field} is missing")


@pytest.mark.parametrize("identity", [" ", "\x00", "\ud800", "a" * 100_000, "小明/../%00\n", "\ufeff"])
def test_any_other_id_is_kept_exactly(identity: str) -> None:
    call = read_add(payload(user_id=identity, request_id=identity, session_id=identity))
    assert {call.user_id, call.request_id, call.session_id} == {identity}


@pytest.mark.parametrize("messages", [None, [], {}, "", 0, 7, True, 1.5])
def test_messages_empty_or_no_list_are_refused(messages: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_add(payload(messages=messages))
    assert refused.value.field == "messages"


@pytest.mark.parametrize("messages", [{"content": "hi"}, "hi", ["hi"], [["hi"]]])
def test_message_in_odd_clothes_is_one_user_message(messages: object) -> None:
    assert read_add(payload(messages=messages)).messages == (Message("user", "I", "hi", None, dated=False),)


@pytest.mark.parametrize(("entry", "text"), [(7, "7"), (True, "true"), (1.5, "1.5")])
def test_message_that_is_a_number_is_kept_as_json(entry: object, text: str) -> None:
    assert only_message(entry).content == text


@pytest.mark.parametrize("entry", [None, {}, {"content": None}, {"content": " \n"}, {"content": "\u200b\x00"}])
def test_message_that_says_nothing_is_skipped(entry: object) -> None:
    assert read_add(payload(messages=[entry])).messages == ()


@pytest.mark.parametrize(
    ("sent", "role"),
    [
        ("assistant", "assistant"),
        ("critic", "critic"),
        (None, "user"),
        ("", "user"),
        (" \x00", "user"),
        (3, "3"),
        ({"a": 1}, '{"a": 1}'),
        ("tool\n one", "tool one"),
    ],
)
def test_any_role_is_accepted(sent: object, role: str) -> None:
    assert only_message({"role": sent, "content": "hi"}).role == role


def occurred(*timestamps: object) -> list[tuple[datetime | None, bool]]:
    messages = [{"content": "hi", "timestamp": timestamp} for timestamp in timestamps]
    return [(message.occurred_at, message.dated) for message in read_add(payload(messages=messages)).messages]


def test_undated_message_takes_the_time_before_it_else_after_it() -> None:
    later = MAY_20.replace(hour=15)
    assert occurred(None, "soon", MS, True, MS + 3_600_000, -1) == [
        (MAY_20, False),
        (MAY_20, False),
        (MAY_20, True),
        (MAY_20, False),
        (later, True),
        (later, False),
    ]


def test_where_nothing_is_dated_nothing_dates_the_messages() -> None:
    assert occurred(None, None) == [(None, False), (None, False)]


def test_skipped_message_dates_nothing() -> None:
    sent = [{"content": "", "timestamp": MS}, {"content": "hi"}]
    assert read_add(payload(messages=sent)).messages[0].occurred_at is None


def test_digest_is_of_fields_as_sent() -> None:
    digest = read_add(payload()).body_digest
    assert len(digest) == 32
    assert read_add(payload(messages=[{"name": None, "content": "hi", "x": 1}])).body_digest == digest
    assert read_add(payload(user_id="other", request_id="other")).body_digest == digest


@pytest.mark.parametrize(
    "changes",
    [
        {"session_id": "t"},
        {"messages": [{"content": "Hi"}]},
        {"messages": [{"content": "hi\x00"}]},
        {"messages": [{"content": ["hi"]}]},
        {"messages": [{"content": "hi"}, {"content": None}]},
        {"messages": [{"content": "hi", "role": "user"}]},
        {"messages": [{"content": "hi", "name": "Ann"}]},
        {"messages": [{"content": "hi", "timestamp": 1}]},
        {"messages": [{"content": "hi", "tool_calls": []}]},
    ],
)
def test_another_body_has_another_digest(changes: dict[str, Any]) -> None:
    assert read_add(payload(**changes)).body_digest != read_add(payload()).body_digest


def test_openapi_describes_the_request_without_references() -> None:
    schema = AddRequest.model_json_schema()
    assert "$defs" not in schema
    assert schema["required"] == ["request_id", "user_id", "session_id", "messages"]
    assert set(schema["properties"]["messages"]["items"]["properties"]) >= {"role", "content", "timestamp"}
    assert read_add(schema["examples"][0]).messages[0].occurred_at == MAY_20
