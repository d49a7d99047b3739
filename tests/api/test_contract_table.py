"""What an Add may look like: the rows of the contract's table on ids, messages and timestamps."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.api.calling import AT_14, NOTHING, added, contents, found, post, rows, stored
from tests.running import add_body, fresh

MARKER = "quicksilver-echo"
"""Stands in what was sent; must not come back in an error."""

PADDING = "x" * 100_000
PIXELS = "aGVsbG8gcGl4ZWxz" * 8


def test_unknown_fields_are_ignored(client: httpx2.Client, user: str) -> None:
    message = {"role": "user", "content": "I sail", "timestamp": AT_14, "mood": {"deep": [1]}}
    added(client, user, message, metadata={"a": None}, top_k=3, version="9")
    assert contents(client, user, "sail", agent="x", filters=[]) == ["[2023-05-20 14:00] I: I sail"]


WRONG_IDS: list[tuple[str, Any]] = [
    (field, wrong)
    for field in ("request_id", "user_id", "session_id")
    for wrong in list[Any](["absent", None, 7, True, ["a"], {"a": 1}, ""])
]
WRONG_MESSAGES: list[tuple[str, Any]] = [
    ("messages", wrong) for wrong in list[Any](["absent", None, 7, True, "", []])
]


@pytest.mark.parametrize(("field", "wrong"), WRONG_IDS + WRONG_MESSAGES)
def test_a_missing_or_wrong_field_is_named_and_nothing_is_echoed(
    client: httpx2.Client, database: str, user: str, field: str, wrong: Any
) -> None:
    body = add_body(user, MARKER) | {field: wrong}
    if wrong == "absent":
        del body[field]
    response = post(client, "/add", body)
    assert response.status_code == 422
    answer = response.json()
    assert answer["error"]
    assert answer["detail"]["field"] == field
    assert field in answer["detail"]["reason"]
    assert MARKER not in response.text
    assert stored(database, user) == NOTHING


@pytest.mark.parametrize("body", [b"", b"{", b"nope " + MARKER.encode(), b"\xff\xfe\xfd", b"[]", b'"text"', b"7"])
@pytest.mark.parametrize("path", ["/add", "/search"])
def test_a_body_that_is_no_json_object_is_a_422_with_a_reason(
    client: httpx2.Client, path: str, body: bytes
) -> None:
    response = client.post(path, content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["detail"]["reason"]
    assert MARKER not in response.text


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ({"role": "user", "content": "hello"}, "I: hello"),
        ({"role": "assistant", "content": "hello"}, "assistant: hello"),
        ({"role": "tool", "content": "hello"}, "tool: hello"),
        ({"role": "Ship's cat", "content": "hello"}, "Ship's cat: hello"),
        ({"role": "user", "name": "Ann", "content": "hello"}, "Ann: hello"),
        ({"role": "assistant", "name": "Ann", "content": "hello"}, "Ann: hello"),
        ({"role": "user", "content": "Caroline: hello"}, "Caroline: hello"),
        ({"role": "assistant", "content": "Caroline: hello"}, "Caroline: hello"),
        ({"role": "user", "name": "Caroline", "content": "Caroline: hello"}, "Caroline: hello"),
        ({"role": "user", "name": "Ann", "content": "Caroline: hello"}, "Caroline: hello"),
    ],
)
def test_any_role_is_accepted_and_the_line_bears_its_speaker_once(
    client: httpx2.Client, user: str, message: dict[str, Any], line: str
) -> None:
    added(client, user, message)
    assert contents(client, user) == [line]


@pytest.mark.parametrize("role", [None, "", "  ", 7, ["user"], {"a": 1}, "absent"])
def test_a_role_that_is_no_name_costs_the_message_nothing(client: httpx2.Client, user: str, role: Any) -> None:
    message = {"role": role, "content": "hello"}
    if role == "absent":
        del message["role"]
    added(client, user, message)
    (line,) = contents(client, user)
    assert line.endswith("hello")


def test_text_parts_are_joined_and_images_keep_their_alt_text_only(client: httpx2.Client, user: str) -> None:
    parts = [
        {"type": "text", "text": "first part"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}, "alt": "a red kite"},
        {"type": "input_audio", "input_audio": {"data": PIXELS, "format": "wav"}},
        {"type": "text", "text": "last part"},
    ]
    added(client, user, {"role": "user", "content": parts})
    (line,) = contents(client, user)
    assert line.index("first part") < line.index("[image") < line.index("last part")
    assert "a red kite" in line
    assert PIXELS[:16] not in line


@pytest.mark.parametrize(
    ("content", "within"),
    [
        (42, ["42"]),
        (2.5, ["2.5"]),
        (False, ["false"]),
        ({"order": 17, "items": ["tea"]}, ['"order"', "17", "tea"]),
        (["plain", "strings"], ["plain", "strings"]),
        ([{"type": "odd", "payload": 9}], ["odd", "9"]),
    ],
)
def test_other_content_is_kept_as_json(client: httpx2.Client, user: str, content: Any, within: list[str]) -> None:
    added(client, user, {"role": "user", "content": content})
    (line,) = contents(client, user)
    assert all(part in line for part in within)


def test_a_null_with_tool_calls_is_kept_as_the_calls(client: httpx2.Client, user: str) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "book_table", "arguments": '{"seats": 4}'}}]
    added(client, user, {"role": "assistant", "content": None, "tool_calls": calls})
    (line,) = contents(client, user)
    assert line.startswith("assistant: ")
    assert "book_table" in line
    assert "seats" in line


@pytest.mark.parametrize("content", [None, "", "  \n\t ", [], [{"type": "text", "text": " "}], "\0\0"])
def test_an_empty_message_is_skipped_and_the_rest_is_stored(client: httpx2.Client, user: str, content: Any) -> None:
    added(client, user, {"role": "user", "content": content}, {"role": "user", "content": "still here"})
    assert contents(client, user) == ["I: still here"]


def test_an_add_of_nothing_but_empty_messages_is_200_and_repeatable(client: httpx2.Client, user: str) -> None:
    body = added(client, user, {"role": "user", "content": ""}, {"role": "user"})
    assert contents(client, user) == []
    assert post(client, "/add", body).status_code == 200


def test_what_postgres_cannot_hold_is_cleaned_from_content(client: httpx2.Client, user: str) -> None:
    added(client, user, {"role": "user", "content": "a\0b \ud800 c\x1bd\nnext line é 🙂"})
    (line,) = contents(client, user)
    assert not {"\0", "\ud800", "\x1b"} & set(line)
    assert line.startswith("I: a")
    assert line.endswith("next line é 🙂")


ODD_IDS = [
    "é🙂/?#%",
    "a\0",
    "\0",
    "a\ud800",
    "\udfff\ud800",
    "tab\tline\n",
    " ",
    "sha256:" + "0" * 64,
    "../..",
    "'\";--",
]


@pytest.mark.parametrize("odd", ODD_IDS)
def test_odd_ids_are_echoed_exactly(client: httpx2.Client, user: str, odd: str) -> None:
    ids = {"user_id": user + odd, "request_id": odd, "session_id": odd}
    response = post(client, "/add", add_body(user, "hello") | ids)
    assert response.status_code == 200
    assert json.loads(response.text) == {"success": True, **ids}
    assert len(found(client, user + odd)) == 1


def test_an_id_of_nothing_but_one_odd_character_is_an_id(client: httpx2.Client) -> None:
    for odd in ("\0", "\ud800", " ", "\t"):
        assert post(client, "/add", add_body(odd, f"of {odd!r}", request="r")).status_code == 200
    for odd in ("\0", "\ud800", " ", "\t"):
        assert contents(client, odd) == [f"[2023-05-20 14:00] I: of {odd!r}"]


def test_ids_that_differ_in_odd_characters_do_not_collide(client: httpx2.Client, user: str) -> None:
    several = [user + odd for odd in ("", "\0", "\0\0", "\ud800", "\udc00", " ", "?", "\ufffd", "x")]
    for one in several:
        added(client, one, f"of {one!r}")
    for one in several:
        assert contents(client, one) == [f"[2023-05-20 14:00] I: of {one!r}"]


@pytest.mark.parametrize("field", ["request_id", "session_id"])
def test_odd_requests_and_sessions_of_one_user_do_not_collide(
    client: httpx2.Client, database: str, user: str, field: str
) -> None:
    for odd in ("a", "a\0", "a\ud800", "a" * 513, "a" * 514, "a "):
        added(client, user, f"in {odd[:9]!r} {len(odd)}", **{field: odd})
    assert len(found(client, user)) == 6
    counted = stored(database, user)
    assert counted["requests"] == 6
    assert counted["sessions"] == (6 if field == "session_id" else 1)


@pytest.mark.parametrize("length", [1, 10, 512, 513, 100_000])
def test_ids_of_any_length_are_accepted_and_the_original_is_kept(
    client: httpx2.Client, database: str, length: int
) -> None:
    user = fresh("u").ljust(length, "é")[:length] if length > 9 else fresh("")[-1:]
    response = post(client, "/add", add_body(user, "hello", request=user, session=user))
    assert response.json() == {"success": True, "request_id": user, "user_id": user, "session_id": user}
    assert len(found(client, user)) == 1
    assert found(client, user + "é") == []
    if len(user.encode()) > 512:
        kept = rows(database, "SELECT count(*) FROM users WHERE original_id = %s", [user.encode()])
        assert kept == [(1,)]


@pytest.mark.parametrize(
    ("timestamp", "date"),
    [
        (AT_14, "2023-05-20 14:00"),
        (float(AT_14), "2023-05-20 14:00"),
        (AT_14 // 1000, "2023-05-20 14:00"),
        (AT_14 * 1000, "2023-05-20 14:00"),
        (AT_14 * 1_000_000, "2023-05-20 14:00"),
        (str(AT_14), "2023-05-20 14:00"),
        (str(AT_14 // 1000), "2023-05-20 14:00"),
        ("2023-05-20T14:00:00Z", "2023-05-20 14:00"),
        ("2023-05-20T14:00:00.123456Z", "2023-05-20 14:00"),
        ("2023-05-20 14:00:00", "2023-05-20 14:00"),
        ("2023-05-20 14:00", "2023-05-20 14:00"),
        ("2023-05-20", "2023-05-20 00:00"),
        (4_102_444_800_000, "2100-01-01 00:00"),
        (253_402_300_799_000, "9999-12-31 23:59"),
        ("9999-12-31T23:59:59Z", "9999-12-31 23:59"),
        ("9999-12-31T23:59:59-14:00", None),
        (253_402_300_800_000, None),
        (10**30, None),
        (None, None),
        (-5, None),
        (True, None),
        (False, None),
        (float("nan"), None),
        (float("inf"), None),
        ("", None),
        ("some day in May", None),
        ([AT_14], None),
        ({"at": AT_14}, None),
        ("absent", None),
    ],
)
def test_a_timestamp_dates_the_line_or_leaves_it_undated(
    client: httpx2.Client, database: str, user: str, timestamp: Any, date: str | None
) -> None:
    message = {"role": "user", "content": "hello", "timestamp": timestamp}
    if timestamp == "absent":
        del message["timestamp"]
    added(client, user, message)
    (memory,) = found(client, user)
    assert memory["content"] == (f"[{date}] I: hello" if date else "I: hello")
    created = memory.get("created_at")
    assert (created[:16].replace("T", " ") if created else None) == date
    assert created is None or created.endswith("Z")
    dated = rows(database, "SELECT occurred_at IS NOT NULL FROM messages WHERE user_id = %s", [user])
    assert dated == [(date is not None,)]


def test_an_undated_message_takes_the_time_of_its_neighbour(client: httpx2.Client, user: str) -> None:
    def said(content: str, timestamp: int | None) -> dict[str, Any]:
        return {"role": "user", "content": content, "timestamp": timestamp}

    hour = 3_600_000
    added(
        client, user, said("a", None), said("b", AT_14), said("c", None), said("d", AT_14 + hour), said("e", None)
    )
    assert sorted(contents(client, user), key=lambda line: line[-1]) == [
        "[2023-05-20 14:00] I: a",
        "[2023-05-20 14:00] I: b",
        "[2023-05-20 14:00] I: c",
        "[2023-05-20 15:00] I: d",
        "[2023-05-20 15:00] I: e",
    ]


def test_five_megabytes_are_stored_whole_and_found(client: httpx2.Client, database: str, user: str) -> None:
    sentence = "The lighthouse keeper counts ravens. Ünïcode 🙂 ends here. "
    content = (sentence * (5_000_000 // len(sentence.encode()) + 1))[:-1]
    added(client, user, content)
    assert rows(database, "SELECT content = %s FROM messages WHERE user_id = %s", [content, user]) == [(True,)]
    (line,) = contents(client, user, "Who counts ravens?", top_k=1)
    assert line == f"[2023-05-20 14:00] I: {content}"
