"""The synthetic log: the same from its seed, of any size, its evidence exact."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer

from ops.bench import gen
from ops.bench.dataset import load, parse

NAMED = re.compile(
    r"[Tt]he [A-Z]\w+ (?:{kinds})|(?:{colours}) \w+ \w+|[A-Z]\w+ (?:{names})".format(
        kinds="|".join(gen.KINDS), colours="|".join(gen.COLOURS), names="|".join(gen.NAMES)
    )
)
"""What a question is about: a place, a thing, or a person or town."""

MENTION = re.compile(
    "|".join(
        re.sub(r"\\{\w+\\}", ".+", re.escape(way)) for ways in gen.MENTIONS.values() for way in ways.split("|")
    ),
    re.IGNORECASE,
)


def made(messages: int, questions: int, seed: int) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gen.written(messages, questions, seed))
    return document


def about(text: str) -> set[str]:
    return {name.replace("The ", "the ") for name in NAMED.findall(text)}


def test_one_seed_gives_the_same_bytes_in_every_process_and_another_seed_others(tmp_path: Path) -> None:
    for hashes in ("1", "2"):
        subprocess.run(
            [sys.executable, "-m", "ops.bench.gen", tmp_path / hashes, "--messages", "300", "--questions", "20"],
            env=os.environ | {"PYTHONHASHSEED": hashes},
            cwd=Path(gen.__file__).parents[2],
            check=True,
            capture_output=True,
        )
    one, other = ((tmp_path / hashes / "seed-7.json").read_bytes() for hashes in ("1", "2"))

    assert one == other == gen.written(300, 20, 7).encode()
    assert gen.written(300, 20, 7) != gen.written(300, 20, 8)


@pytest.mark.parametrize(("messages", "questions"), [(3, 1), (37, 5), (2000, 100), (20_000, 2000)])
def test_a_log_is_as_large_as_it_was_asked_to_be(messages: int, questions: int) -> None:
    conversation = parse("made", made(messages, questions, 1))

    assert (len(conversation.turns), len(conversation.questions)) == (messages, questions)
    assert conversation.without_evidence == 0
    assert len({turn.id for turn in conversation.turns}) == messages
    times = [turn.said_at for turn in conversation.turns]
    assert times == sorted(set(times))


def test_what_names_a_question_s_subject_is_its_evidence_or_tells_nothing_of_it() -> None:
    document = made(4000, 320, 3)
    texts = {turn.id: turn.content.partition(": ")[2] for turn in parse("made", document).turns}
    names = {identity: about(text) for identity, text in texts.items()}

    for asked in document["qa"]:
        (subject,) = about(asked["question"])
        told = [identity for identity in asked["evidence"] if subject in names[identity]]
        assert told, asked
        subjects = {subject}
        if len(asked["evidence"]) == 2:  # what leads on from the first turn to the second
            subjects |= set.intersection(*(names[identity] for identity in asked["evidence"]))
            assert len(subjects) == len(asked["evidence"]) - (told == asked["evidence"]), asked
        for identity in texts.keys() - set(asked["evidence"]):
            assert not names[identity] & subjects or MENTION.fullmatch(texts[identity]), texts[identity]


def test_an_answer_stands_in_the_evidence() -> None:
    document = made(2000, 160, 4)
    texts = {turn.id: turn.content for turn in parse("made", document).turns}

    for asked in document["qa"]:
        told = " ".join(texts[identity] for identity in asked["evidence"]).casefold()
        parts = re.split(r"^from | to (?=\$)|^to ", asked["answer"])
        assert all(part.casefold() in told for part in parts), asked


def test_evidence_comes_in_order_of_time_and_the_kinds_come_equally_often() -> None:
    conversation = parse("made", made(2000, 160, 5))
    order = {turn.id: place for place, turn in enumerate(conversation.turns)}

    for question in conversation.questions:
        assert list(question.evidence) == sorted(question.evidence, key=order.__getitem__)
    assert Counter(question.category for question in conversation.questions) == {1: 60, 2: 40, 4: 60}


def test_no_sentence_keeps_an_empty_slot() -> None:
    text = gen.written(4000, 300, 6)

    assert not re.search(r"\{\w+\}|\$\{", text)


def test_seeds_in_one_folder_are_conversations_of_one_run(tmp_path: Path) -> None:
    for seed in (1, 2):
        gen.main(tmp_path / "new", messages=60, questions=4, seed=seed)

    assert [one.name for one in load(tmp_path / "new")] == ["seed-1", "seed-2"]


def test_more_questions_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="100 messages are too few for 40 questions"):
        gen.main(tmp_path, messages=100, questions=40, seed=1)
    with pytest.raises(gen.TooMany, match="no town is left to ask about"):
        gen.written(100_000, 10_000, 1)
