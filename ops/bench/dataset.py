"""Conversations in the form of LoCoMo (Maharana et al., 2024), and how each is replayed.

A folder holds one JSON file per conversation: `session_N` (turns), `session_N_date_time`,
`session_N_observation` and `qa`. The data never become part of this project: the folder is an argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

TURNS_PER_ADD = 20
ADVERSARIAL = 5
"""The category whose questions have no answer in the conversation: left out."""

_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_SESSION_KEY = re.compile(r"session_(\d+)")


class DatasetError(ValueError):
    """The folder or a file of it cannot be replayed; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn as it is sent: `content` is `NAME: text`; `said_at` is UTC, on the minute."""

    id: str
    role: str
    content: str
    said_at: datetime

    @property
    def message(self) -> dict[str, Any]:
        """The message of an Add."""
        return {
            "role": self.role,
            "content": self.content,
            "timestamp": int(self.said_at.timestamp() * 1000),
        }


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """`number` is its place in the file's `qa`; `evidence` holds ids of turns that exist, at least one;
    `answer` is the reference answer, empty where the file has none."""

    number: int
    text: str
    category: int
    evidence: tuple[str, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """One atomic fact of the data set, with the ids of the turns it rests on."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    without_evidence: int
    """Questions skipped because they name no turn that exists (adversarial ones not counted)."""
    observations: tuple[Observation, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns in document order."""
        return tuple(turn for session in self.sessions for turn in session.turns)


def load(folder: Path) -> list[Conversation]:
    """Every `*.json` of the folder, by name. Raises DatasetError."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise DatasetError(f"{folder} holds no .json file")
    return [parse(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in files]


def parse(name: str, document: Mapping[str, Any]) -> Conversation:
    """One conversation from its file's JSON. Raises DatasetError."""
    try:
        sessions = tuple(_sessions(document))
        known = {turn.id for session in sessions for turn in session.turns}
        asked = [
            Question(
                number,
                entry["question"],
                entry["category"],
                _known(entry.get("evidence"), known),
                _written(entry.get("answer")),
            )
            for number, entry in enumerate(document["qa"])
            if entry["category"] != ADVERSARIAL
        ]
        observations = tuple(_observations(document, known))
    except (KeyError, TypeError) as error:
        raise DatasetError(f"conversation {name}: {type(error).__name__}: {error}") from error
    questions = tuple(question for question in asked if question.evidence)
    return Conversation(name, sessions, questions, len(asked) - len(questions), observations)


def turn_ids(written: object) -> list[str]:
    """The turn ids in a string or in a (nested) list of strings, in order, each once.

    Annotators wrote several in one string and slipped on the form: `D1:2; D3:4`, `D:1:2`, `D1:02`.
    """
    if isinstance(written, list):
        found = [identity for part in written for identity in turn_ids(part)]
    elif isinstance(written, str):
        found = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(written)]
    else:
        found = []
    return list(dict.fromkeys(found))


def session_time(written: str) -> datetime:
    """UTC from the form `1:56 pm on 8 May, 2023`. Raises DatasetError."""
    try:
        return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError as error:
        raise DatasetError(f"not a session's time: {written!r}") from error


def adds(session: Session, user_id: str) -> Iterator[dict[str, Any]]:
    """The session's Add bodies in order. The request ids depend on the user and the place alone."""
    for index, first in enumerate(range(0, len(session.turns), TURNS_PER_ADD)):
        yield {
            "request_id": f"{user_id}-{session.id}-{index}",
            "user_id": user_id,
            "session_id": session.id,
            "messages": [turn.message for turn in session.turns[first : first + TURNS_PER_ADD]],
        }


def _sessions(document: Mapping[str, Any]) -> Iterator[Session]:
    numbers = sorted(int(match[1]) for key in document if (match := _SESSION_KEY.fullmatch(key)))
    for number in numbers:
        key = f"session_{number}"
        start = session_time(document[f"{key}_date_time"])
        yield Session(
            key,
            tuple(
                Turn(
                    id=_one_id(turn["dia_id"]),
                    role="user" if turn["speaker"] == document["speaker_a"] else "assistant",
                    content=f"{turn['speaker']}: {turn['text']}",
                    said_at=start + timedelta(minutes=minute),
                )
                for minute, turn in enumerate(document[key])
            ),
        )


def _observations(document: Mapping[str, Any], known: set[str]) -> Iterator[Observation]:
    for key, by_speaker in document.items():
        if key.endswith("_observation"):
            for written in by_speaker.values():
                for text, sources in written:
                    yield Observation(text, _known(sources, known))


def _written(answer: object) -> str:
    """Annotators wrote years and counts as numbers."""
    return "" if answer is None else str(answer).strip()


def _one_id(written: str) -> str:
    found = turn_ids(written)
    if len(found) != 1:
        raise DatasetError(f"not a turn's id: {written!r}")
    return found[0]


def _known(written: object, known: set[str]) -> tuple[str, ...]:
    return tuple(identity for identity in turn_ids(written) if identity in known)
