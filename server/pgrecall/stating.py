"""The states that memories tell, as they are kept: of facts as the language model keyed them, and of the messages
that say the value in its own words; of messages without such facts as patterns read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.numeric import Int2

from pgrecall.memory import Fact, Message
from pgrecall.rendering import spoken
from pgrecall.versions.patterns import stated
from pgrecall.versions.statements import Statement, subject_key, value_key
from pgrecall.versions.withholding import says_more


@dataclass(frozen=True, slots=True)
class Told:
    """One state that a memory tells. `memory`: its place among those of the call, messages before facts. `drawn`:
    by a language model. `alone`: the memory says nothing else worth keeping."""

    memory: int
    statement: Statement
    drawn: bool
    alone: bool


def told_by_facts(messages: Sequence[Message], facts: Sequence[Fact]) -> list[Told]:
    """Of an Add whose facts a model drew."""
    told = []
    for place, message in enumerate(messages):
        drawn = [fact.statement for fact in facts if place in fact.sources]
        if not any(drawn):
            continue
        alone = not says_more(message.content, drawn)
        told += [
            Told(place, one, True, alone)
            for one in dict.fromkeys(drawn)
            if one is not None and states_in_words(message.content, one)
        ]
    return told + [
        Told(len(messages) + place, fact.statement, True, True)
        for place, fact in enumerate(facts)
        if fact.statement is not None
    ]


def told_by_patterns(memory: int, role: str | None, speaker: str | None, content: str) -> list[Told]:
    """Of one message of which no model drew facts; a fact (role None) tells none by patterns."""
    if role is None or role.casefold() != "user":
        return []
    text = content if speaker is None else spoken(speaker, content)
    found = stated(text, owners_own=True)
    alone = bool(found) and not says_more(text, None)
    return [Told(memory, one, False, alone) for one in found]


def states_in_words(content: str, statement: Statement) -> bool:
    """Whether the message holds the value's own words; of an end without a value, whatever it rests on tells it."""
    if statement.value is None:
        return True
    value, text = value_key(statement.value), value_key(content)
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (_joined(before, value[0]) or _joined(value[-1], after)):
            return True
        at = text.find(value, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two characters beside each other are of one word: of scripts with spaces, and of numbers."""
    return left.isalnum() and right.isalnum() and left < "\u2e80" and right < "\u2e80"


def state_parameters(told: Sequence[Told]) -> dict[str, Any]:
    """The rows of `states`."""
    places: dict[int, int] = {}
    numbered = []
    for one in told:
        places[one.memory] = place = places.get(one.memory, -1) + 1
        numbered.append((place, one))
    return {
        "state_memories": [one.memory for one in told],
        "state_places": [Int2(place) for place, _ in numbered],
        "subject_keys": [subject_key(one.statement.subject) for one in told],
        "attributes": [one.statement.attribute for one in told],
        "state_values": [one.statement.value for one in told],
        "relatives": [one.statement.relative for one in told],
        "closings": [one.statement.closes for one in told],
        "drawns": [one.drawn for one in told],
        "alones": [one.alone for one in told],
    }
