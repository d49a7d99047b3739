"""Replies of the language model, taken strictly: what is not exactly of the form asked for is refused.

Prose is not facts, and half a reply never becomes a memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pgrecall.contract.cleaning import is_blank
from pgrecall.language.prompts import MAX_FACTS
from pgrecall.language.protocol import MalformedReply
from pgrecall.language.verbatim import holds, squeeze
from pgrecall.memory import Fact, RecallQuestion
from pgrecall.versions.asking import Wanted
from pgrecall.versions.registry import REGISTRY
from pgrecall.versions.statements import Statement

_FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
MOST_KEY_WORDS = 8
LONGEST_KEY_WORD = 100
"""Characters: more is no word, but prose."""
LONGEST_VALUE = 200
"""Characters of a subject or value: more is no state, but a story."""
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Controls and lone surrogates, which JSON escapes can smuggle in and Postgres does not store."""


def parse_facts(reply: str, lines: Sequence[str]) -> list[Fact]:
    """The facts of a reply {"facts": [{"fact": str, "lines": [int]}]}, or of that bare list.

    Numbers of lines are 1-based in the reply and 0-based in Fact. Blank facts, repeated ones and those
    with a name or number that their lines do not hold are left out; of the rest the first MAX_FACTS stay.
    A fact that points at no line rests on all. Raises MalformedReply.
    """
    reply_json = _json(reply)
    entries = reply_json.get("facts") if isinstance(reply_json, dict) else reply_json
    if not isinstance(entries, list):
        raise MalformedReply("no list of facts")
    facts: dict[str, Fact] = {}
    for content, numbers, statement in [_entry(entry) for entry in entries]:
        sources = tuple(sorted({number - 1 for number in numbers if 1 <= number <= len(lines)}))
        fact = Fact(content, sources or tuple(range(len(lines))), statement)
        if not is_blank(content) and holds([lines[source] for source in fact.sources], content):
            facts.setdefault(content.casefold(), fact)
    return list(facts.values())[:MAX_FACTS]


def parse_recall_question(reply: str) -> RecallQuestion:
    """Of {"recall_question": str, "key_words": [str], "time": str or null, "asks_for": str}; without its
    companions, or with such as are no text, the question stands alone. Raises MalformedReply.
    """
    question = _question(reply)
    if question is None:
        raise MalformedReply("no recall question")
    reply_json = _json(reply)
    assert isinstance(reply_json, dict)
    words = reply_json.get("key_words")
    key_words = [_clean(word) for word in words if isinstance(word, str)] if isinstance(words, list) else []
    time, asks_for = reply_json.get("time"), reply_json.get("asks_for")
    return RecallQuestion(
        question,
        tuple(word for word in key_words if 0 < len(word) <= LONGEST_KEY_WORD)[:MOST_KEY_WORDS],
        _clean(time) or None if isinstance(time, str) else None,
        asks_for if isinstance(asks_for, str) and asks_for in set(Wanted) else None,
    )


def parse_missing_question(reply: str) -> str | None:
    """The question of {"recall_question": str or null}; None: nothing is missing. Raises MalformedReply."""
    return _question(reply)


def _question(reply: str) -> str | None:
    reply_json = _json(reply)
    if not isinstance(reply_json, dict) or "recall_question" not in reply_json:
        raise MalformedReply("no recall question")
    question = reply_json["recall_question"]
    if question is None:
        return None
    if not isinstance(question, str) or not (cleaned := _clean(question)):
        raise MalformedReply("the recall question is no text")
    return cleaned


def _entry(entry: object) -> tuple[str, list[int], Statement | None]:
    if not isinstance(entry, dict) or not isinstance(fact := entry.get("fact"), str):
        raise MalformedReply("a fact is no text")
    numbers = entry.get("lines")
    if numbers is None:
        return _clean(fact), [], _statement(entry)
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise MalformedReply("the lines of a fact are no numbers")
    return _clean(fact), numbers, _statement(entry)


def _statement(entry: dict[object, object]) -> Statement | None:
    """The state that a fact tells; None where its keys are not all as asked: a fact without them is still one."""
    subject, attribute, value = entry.get("subject"), entry.get("attribute"), entry.get("value")
    relative, closes = entry.get("relative") is True, entry.get("closes") is True
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    value = _clean(value)[:LONGEST_VALUE] or None if isinstance(value, str) else None
    if not (isinstance(subject, str) and isinstance(attribute, str) and attribute in REGISTRY):
        return None
    subject = _clean(subject)[:LONGEST_VALUE]
    return Statement(subject, attribute, value, relative, closes) if subject and (value or closes) else None


def _clean(text: str) -> str:
    return squeeze(_UNSTORABLE.sub(" ", text))


def _json(reply: str) -> object:
    text = reply.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced.group(1)
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedReply("no JSON") from None
    return parsed
