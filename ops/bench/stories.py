"""How well states that change are followed: chains, patterns, questions and withholding over told stories.

    python -m ops.bench.stories tests/stories/open.jsonl

Nothing is stored and no model is asked: the stories bring the facts that a careful model would draw.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pgrecall.versions.asking import Wanted, attributes_asked, wanted
from pgrecall.versions.chains import Chains, Said, chains
from pgrecall.versions.patterns import stated
from pgrecall.versions.statements import Statement, subject_key, value_key
from pgrecall.versions.withholding import Mode, says_more, withheld

Story = Mapping[str, Any]
"""A line of the file, as it stands there."""
BOTH = Mode.CURRENT | Mode.DATED


@dataclass(slots=True)
class Measure:
    """`right` of `all`, and what was wrong."""

    right: int = 0
    all: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, right: bool, what: str) -> None:
        self.all += 1
        self.right += right
        if not right:
            self.wrong.append(what)

    @property
    def share(self) -> float:
        return self.right / self.all if self.all else 1.0


Measures = dict[str, Measure]


def load(path: Path) -> list[Story]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def score(stories: Iterable[Story]) -> Measures:
    """Every measure by name, in the order in which they are printed."""
    measures: Measures = {}
    for story in stories:
        for part in (_chains, _patterns, _questions):
            for name, right, what in part(story):
                measures.setdefault(name, Measure()).count(right, f"{story['id']}: {what}")
        for name, drawn in (("model", True), ("patterns", False)):
            for measure, right, what in _withholding(story, by_model=drawn):
                measures.setdefault(f"{name}: {measure}", Measure()).count(right, f"{story['id']}: {what}")
    return measures


def told(story: Story, *, by_model: bool) -> Iterator[tuple[int, int | None, Statement | None]]:
    """(message, fact, what it states): of the story's own facts, or of the patterns, which draw no facts."""
    for place, message in enumerate(story["messages"]):
        if by_model:
            for number, fact in enumerate(message["facts"]):
                yield place, number, _statement(fact)
        else:
            for statement in stated(message["text"], owners_own=message["role"] == "user"):
                yield place, None, statement


def story_chains(story: Story, *, by_model: bool = True, facts_apart: bool = False) -> Chains:
    """The chains of a story, its messages having arrived in its own order. Memories are the messages' places;
    `facts_apart`: and (message, fact)."""
    said: list[Said] = []
    for message, fact, statement in told(story, by_model=by_model):
        if statement is not None:
            at, order = _at(story, message), story["arrival"].index(message)
            said.append(Said(statement, at, order, message))
            if facts_apart and fact is not None:
                said.append(Said(statement, at, order, (message, fact)))
    return chains(said)


def _chains(story: Story) -> Iterator[tuple[str, bool, str]]:
    """Each chain that should be, link by link; and each that is, by whose it is."""
    built = story_chains(story)
    expected = {(subject_key(one["subject"]), one["attribute"]): one["links"] for one in story["chains"]}
    for state, links in expected.items():
        should = [
            (
                value_key(link["value"] or ""),
                _at(story, link["from"]),
                None if link["until"] is None else _at(story, link["until"]),
                link["relative"],
                sorted(link["messages"]),
            )
            for link in links
        ]
        found = [
            (
                value_key(link.value or ""),
                link.since,
                link.until,
                link.relative,
                sorted(map(_number, link.memories)),
            )
            for link in built.get(state, ())
        ]
        yield "chains", found == should, f"{state} {found} instead of {should}"
    for state in built:
        yield "subjects of chains", state in expected, f"{state} is no chain of the story"


def _patterns(story: Story) -> Iterator[tuple[str, bool, str]]:
    for message in story["messages"]:
        found = stated(message["text"], owners_own=message["role"] == "user")
        facts = [statement for fact in message["facts"] if (statement := _statement(fact)) is not None]
        for one in found:
            yield "patterns: precision", any(_agree(one, fact) for fact in facts), f"{one}: {message['text']}"
        for fact in facts:
            reached = any(_agree(one, fact) for one in found)
            yield "patterns: reach", reached, f"{fact}: {message['text']}"


def _questions(story: Story) -> Iterator[tuple[str, bool, str]]:
    by_kind = {"current": Wanted.CURRENT, "relative": Wanted.CURRENT, "dated": Wanted.DATED}
    for question in story["questions"]:
        text, kind = question["text"], question["kind"]
        what, asked = wanted(text), attributes_asked(text)
        if kind in by_kind:
            right = what is by_kind[kind]
            yield f"wanted: {kind}", right, f"{text} {what}"
            yield f"asked: {kind}", right and bool(asked), f"{text} {asked}"
        else:
            quiet = what not in (Wanted.CURRENT, Wanted.DATED) or not asked
            yield f"wanted: {kind}", quiet, f"{text} {what} {asked}"


def _withholding(story: Story, *, by_model: bool) -> Iterator[tuple[str, bool, str]]:
    """What stays for each question: does it hold what it should, and nothing that it should not?"""
    built = story_chains(story, by_model=by_model, facts_apart=True)
    texts = _texts(story, by_model=by_model)
    drawn: dict[int, list[Statement | None]] = {place: [] for place in range(len(story["messages"]))}
    for message, _, statement in told(story, by_model=by_model):
        drawn[message].append(statement)
    keep = [
        place
        for place, message in enumerate(story["messages"])
        if says_more(message["text"], drawn[place] if by_model else None)
    ]
    for question in story["questions"]:
        as_of = date.fromisoformat(question["at"]) if "at" in question else None
        leaving = withheld(built, question["text"], as_of, BOTH, keep=keep, texts=texts)
        stays = "\n".join(text for memory, text in texts.items() if memory not in leaving).casefold()
        kind, text = question["kind"], question["text"]
        lost = [value for value in question["has"] if value.casefold() not in stays]
        yield f"{kind}: nothing lost", not lost, f"{text} lost {lost}"
        if kind not in ("current", "dated"):
            yield f"{kind}: nothing withheld", not leaving, f"{text} withheld {leaving}"
        elif question["lacks"]:
            left = [value for value in question["lacks"] if value.casefold() in stays]
            yield f"{kind}: no other value stays", not left, f"{text} {left} stays"


def _texts(story: Story, *, by_model: bool) -> dict[Hashable, str]:
    texts: dict[Hashable, str] = {place: message["text"] for place, message in enumerate(story["messages"])}
    if by_model:
        for place, message in enumerate(story["messages"]):
            texts |= {(place, number): fact["text"] for number, fact in enumerate(message["facts"])}
    return texts


def _statement(fact: Mapping[str, Any]) -> Statement | None:
    if fact["attribute"] is None:
        return None
    relative, closes = bool(fact.get("relative")), bool(fact.get("closes"))
    return Statement(fact["subject"], fact["attribute"], fact["value"], relative, closes)


def _agree(one: Statement, other: Statement) -> bool:
    """Of one state, and of values that hold one another: a story's value may be `Volvo` of a Volvo estate."""
    if (subject_key(one.subject), one.attribute, one.closes) != (
        subject_key(other.subject),
        other.attribute,
        other.closes,
    ):
        return False
    if one.value is None or other.value is None:
        return one.closes
    keys = value_key(one.value), value_key(other.value)
    return keys[0] in keys[1] or keys[1] in keys[0]


def _at(story: Story, message: int) -> datetime:
    return datetime.fromisoformat(story["messages"][message]["at"])


def _number(memory: Hashable) -> int:
    assert isinstance(memory, int)
    return memory


def table(measures: Measures) -> Table:
    shown = Table(title="stories of change", title_justify="left")
    for heading in ("measure", "right", "of", "share"):
        shown.add_column(heading, justify="left" if heading == "measure" else "right", no_wrap=True)
    for name, one in measures.items():
        shown.add_row(name, str(one.right), str(one.all), f"{one.share:.3f}")
    return shown


def main(
    path: Path, wrong: Annotated[bool, typer.Option(help="Print what was wrong, measure by measure.")] = False
) -> None:
    stories = load(path)
    measures = score(stories)
    console = Console()
    languages = Counter(story["language"] for story in stories)
    console.print(", ".join(f"{count} stories {language}" for language, count in languages.items()))
    console.print(table(measures))
    for name, one in measures.items():
        if wrong and one.wrong:
            console.print(f"\n{name}:", *one.wrong, sep="\n  ", markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)
