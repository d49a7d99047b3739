"""The project's own logs: messages of one user with questions, inside filler made from a seed.

A folder holds, for each language, `L_log.jsonl`, `L_questions.jsonl`, `L_filler.txt` (sentences with slots in
braces) and `L_slots.json` (what fills them). They replay like any other conversation.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from ops.bench.dataset import Conversation, Question, Session, Turn

KINDS = ("name", "number", "date", "update", "ordinary", "paraphrase", "identifier", "price", "misspelt")
FIRST_KIND = 11
"""The category of the first kind: below are those of LoCoMo."""
FILLER = 2000
SEED = 20240101
FILLER_TURNS = 10
"""Turns of a session of filler."""

_SLOT = re.compile(r"\{([^}]+)\}")


def load_logs(folder: Path, filler: int = FILLER, seed: int = SEED) -> list[Conversation]:
    """Every log of the folder, by language."""
    return [load_log(path, filler, seed) for path in sorted(folder.glob("*_log.jsonl"))]


def load_log(path: Path, filler: int, seed: int) -> Conversation:
    """One log: its sessions and those of filler, in order of time."""
    language = path.name.removesuffix("_log.jsonl")
    turns = [(spoken["session_id"], _turn(spoken)) for spoken in _lines(path)]
    sessions = [
        Session(session_id, tuple(turn for _, turn in group))
        for session_id, group in groupby(turns, key=lambda pair: pair[0])
    ]
    times = [turn.said_at for _, turn in turns]
    sessions += _filler(path.parent, language, min(times), max(times), filler, random.Random(seed))
    sessions.sort(key=lambda session: session.turns[0].said_at)
    questions = tuple(
        Question(
            number,
            asked["question"],
            FIRST_KIND + KINDS.index(asked["kind"]),
            tuple(asked["evidence"]),
            str(asked.get("answer", "")),
        )
        for number, asked in enumerate(_lines(path.with_name(f"{language}_questions.jsonl")))
    )
    return Conversation(language, tuple(sessions), questions, 0, ())


def _turn(spoken: dict[str, Any]) -> Turn:
    return Turn(spoken["id"], spoken["role"], spoken["content"], datetime.fromisoformat(spoken["timestamp"]))


def _filler(
    folder: Path, language: str, first: datetime, last: datetime, count: int, choice: random.Random
) -> Iterator[Session]:
    """Sessions of filler, none of which says the same twice, spread over the time of the log."""
    frames = (folder / f"{language}_filler.txt").read_text(encoding="utf-8").splitlines()
    slots = json.loads((folder / f"{language}_slots.json").read_text(encoding="utf-8"))
    texts: dict[str, None] = {}
    while len(texts) < count:
        frame = frames[choice.randrange(len(frames))]
        texts[_SLOT.sub(lambda slot: choice.choice(slots[slot[1]]), frame)] = None
    said = list(texts)
    for number, start in enumerate(range(0, count, FILLER_TURNS)):
        opened = first + (last - first) * choice.random()
        yield Session(
            f"filler-{number}",
            tuple(
                Turn(f"f{start + place}", ("user", "assistant")[place % 2], text, opened + timedelta(minutes=place))
                for place, text in enumerate(said[start : start + FILLER_TURNS])
            ),
        )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
