"""Messages that lack the words which patterns need are not read: no statement may be lost by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgrecall.versions.needed import Needed
from pgrecall.versions.patterns import _languages

TESTS = Path(__file__).parents[1]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def texts() -> Iterator[str]:
    for line in (TESTS / "stories" / "open.jsonl").read_text(encoding="utf-8").splitlines():
        yield from strings(json.loads(line))
    for filler in sorted((TESTS / "logs").glob("*_filler.txt")):
        yield from filler.read_text(encoding="utf-8").splitlines()
    for log in sorted((TESTS / "logs").glob("*_log.jsonl")):
        for line in log.read_text(encoding="utf-8").splitlines():
            yield from strings(json.loads(line))


def test_no_statement_is_lost_by_looking_for_words_first() -> None:
    read = told = 0
    for text in texts():
        for language in _languages():
            sentences = language.clauses.sentences(text)
            found = language.first_person.search(text) is not None and any(map(language.of_sentence, sentences))
            read += language.may_tell(text)
            told += found
            assert language.may_tell(text) or not found, text
    assert 50 < told < read


@pytest.mark.parametrize(
    ("pattern", "matched", "lacking"),
    [
        ("my favou?rite colou?r is", "MY favorite colour is", "my colour is"),
        ("i(?:'m| am) (?:up|down|back) to \\d{1,3} ?(?:kg|stone)", "I'm up to 72kg", "I'm up to no good"),
        ("moved(?: house)? to (?!hell)x+", "moved to xx", "moved out"),
        ("(?:a{0,2}|never) sold (?:the|my) car", "sold the car", "sold a car"),
        ("搬(?:到|去)了?南", "搬到南京", "搬走"),
        ("number:? [+]?\\d[\\d -]{5,9}", "number: +49 30 123", "number withheld"),
        ("heights? (?:of|at) \\d+", "height of ٣", "heights of folly"),
    ],
)
def test_a_text_is_read_where_it_holds_what_a_pattern_needs(pattern: str, matched: str, lacking: str) -> None:
    needed = Needed([pattern])
    assert needed.may_match(f"Well, {matched}!")
    assert not needed.may_match(lacking)


def test_a_pattern_that_needs_no_word_has_everything_read() -> None:
    assert Needed(["(?:sold|\\w+) it?", "[a-z]+"]).may_match("anything")
