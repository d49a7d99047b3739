"""Conversations in the data set's form, with made-up ones written here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ops.bench.dataset import DatasetError, adds, load, parse, session_time, turn_ids
from ops.bench.observations import draw_observations

DOCUMENT: dict[str, Any] = {
    "speaker_a": "Ines",
    "speaker_b": "Karl",
    "session_10": [{"speaker": "Karl", "dia_id": "D10:1", "text": "The boat is sold."}],
    "session_10_date_time": "12:05 am on 1 March, 2024",
    "session_2": [
        {"speaker": "Ines", "dia_id": "D2:1", "text": "I bought a boat."},
        {"speaker": "Karl", "dia_id": "D2:2", "text": "What colour is it?"},
        {"speaker": "Ines", "dia_id": "D2:3", "text": "It is  green."},
    ],
    "session_2_date_time": "1:59 pm on 8 May, 2023",
    "session_2_observation": {
        "Ines": [["Ines bought a boat.", "D2:1"], ["Ines has a green boat.", ["D2:1", "D2:3"]]],
        "Karl": [["Karl asked about a car.", "D7:1"]],
    },
    "session_10_observation": {"Karl": [["Karl sold what Ines bought.", "D2:1, D10:1"]]},
    "session_3_date_time": "1:59 pm on 9 May, 2023",
    "qa": [
        {"question": "What did Ines buy?", "answer": "A boat", "evidence": ["D2:1"], "category": 4},
        {"question": "Where is it?", "answer": "?", "evidence": [], "category": 3},
        {"question": "Which car?", "evidence": ["D2:1"], "category": 5},
        {"question": "What became of it?", "answer": "Sold", "evidence": ["D2:3; D:10:01"], "category": 1},
        {"question": "Who?", "answer": "Karl", "evidence": ["D9:9"], "category": 2},
    ],
}


def test_sessions_come_in_order_of_their_numbers_with_a_minute_per_turn() -> None:
    conversation = parse("boat", DOCUMENT)

    assert [session.id for session in conversation.sessions] == ["session_2", "session_10"]
    assert [(turn.id, turn.role, turn.content, turn.said_at) for turn in conversation.turns] == [
        ("D2:1", "user", "Ines: I bought a boat.", datetime(2023, 5, 8, 13, 59, tzinfo=UTC)),
        ("D2:2", "assistant", "Karl: What colour is it?", datetime(2023, 5, 8, 14, 0, tzinfo=UTC)),
        ("D2:3", "user", "Ines: It is  green.", datetime(2023, 5, 8, 14, 1, tzinfo=UTC)),
        ("D10:1", "assistant", "Karl: The boat is sold.", datetime(2024, 3, 1, 0, 5, tzinfo=UTC)),
    ]


def test_questions_keep_the_evidence_that_exists_and_the_rest_are_counted() -> None:
    conversation = parse("boat", DOCUMENT)

    assert [(one.number, one.category, one.evidence) for one in conversation.questions] == [
        (0, 4, ("D2:1",)),
        (3, 1, ("D2:3", "D10:1")),
    ]
    assert conversation.without_evidence == 2  # adversarial questions are left out uncounted


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("D8:6; D9:17", ["D8:6", "D9:17"]),
        ("D:11:26", ["D11:26"]),
        ("D30:05", ["D30:5"]),
        (["D1:2", ["D1:3, D1:2"]], ["D1:2", "D1:3"]),
        ("D", []),
        (None, []),
    ],
)
def test_malformed_turn_ids_are_read(written: object, read: list[str]) -> None:
    assert turn_ids(written) == read


def test_an_add_holds_twenty_turns_and_ids_that_depend_on_its_place_alone() -> None:
    turns = [{"speaker": "Karl", "dia_id": f"D1:{number}", "text": str(number)} for number in range(1, 42)]
    document = {
        "speaker_a": "Ines",
        "session_1": turns,
        "session_1_date_time": "2:00 pm on 20 May, 2023",
        "qa": [],
    }
    (session,) = parse("long", document).sessions

    bodies = list(adds(session, "run-long"))

    assert [len(body["messages"]) for body in bodies] == [20, 20, 1]
    assert [body["request_id"] for body in bodies] == [f"run-long-session_1-{index}" for index in range(3)]
    assert {(body["user_id"], body["session_id"]) for body in bodies} == {("run-long", "session_1")}
    assert bodies[0]["messages"][0]["timestamp"] == 1_684_591_200_000
    assert bodies[2]["messages"] == [
        {"role": "assistant", "content": "Karl: 41", "timestamp": 1_684_591_200_000 + 40 * 60_000}
    ]


def test_noon_and_midnight_are_told_apart() -> None:
    assert session_time("12:00 pm on 3 June, 2023").hour == 12
    assert session_time("12:00 am on 3 June, 2023").hour == 0


def test_a_folder_is_read_by_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")

    assert [conversation.name for conversation in load(tmp_path)] == ["a", "b"]


def test_what_cannot_be_replayed_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no \.json file"):
        load(tmp_path)
    with pytest.raises(DatasetError, match="session_2_date_time"):
        parse("boat", {key: DOCUMENT[key] for key in DOCUMENT if key != "session_2_date_time"})
    with pytest.raises(DatasetError, match="not a session's time"):
        parse("boat", DOCUMENT | {"session_2_date_time": "yesterday"})
    with pytest.raises(DatasetError, match="not a turn's id"):
        parse("boat", DOCUMENT | {"session_2": [{"speaker": "Ines", "dia_id": "first", "text": "Hi"}]})


def test_observations_are_drawn_with_the_numbers_of_their_lines() -> None:
    other = parse(
        "other", DOCUMENT | {"session_2_observation": {"Ines": [["Of another.", "D2:1"]]}, "session_10": []}
    )
    draw = draw_observations([other, parse("boat", DOCUMENT)])
    lines = ["[2024-03-01 00:05] Karl: The boat is sold.", "[2023-05-08 14:01] Ines: It is green."]

    assert draw(lines) == [("Ines has a green boat.", [2]), ("Karl sold what Ines bought.", [1])]
    assert draw(["[2024-03-01 00:05] Karl: Nothing of this."]) == []
