"""States that a message tells, by patterns that are data, without a model: precision before reach.

Only the owner's own words are read, and of them only what stands in the present or has just changed. In doubt
nothing.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from pgrecall.versions.clauses import Clauses, telling
from pgrecall.versions.needed import Needed
from pgrecall.versions.packaged import in_every_language
from pgrecall.versions.registry import is_single
from pgrecall.versions.statements import OWNER, Statement, subject_key, value_key

LONGEST_READ = 4_000
"""Characters of a message; a longer one is pasted, and not its writer's own words."""

_PARTS = ("patterns", "closing")


@dataclass(frozen=True, slots=True)
class _Found:
    statement: Statement
    slot: regex.Pattern[str] | None
    """What its value must look like: a correction has to."""
    said: str
    """The words that tell it."""


class _Language:
    def __init__(self, rules: dict[str, Any]) -> None:
        self.clauses = Clauses(rules)
        self._rules = rules
        self.first_person = regex.compile(rules["first_person"], regex.IGNORECASE)
        self._correction = regex.compile(rules["correction"], regex.IGNORECASE)
        self._corrects = regex.compile(rules["corrects"], regex.IGNORECASE)
        words_before = r"(?:\w+\W+){0,2}?" if rules["spaced"] else ""
        self._begins_correcting = regex.compile(rf"\W*{words_before}(?:{rules['corrects']})", regex.IGNORECASE)
        self._succeeds = regex.compile(rules["succeeds"], regex.IGNORECASE)
        self._opener = regex.compile(rules["openers"], regex.IGNORECASE)
        self._slots = {name: regex.compile(slot, regex.IGNORECASE) for name, slot in rules["slots"].items()}
        unknown = {attribute for part in _PARTS for attribute in rules[part] if not is_single(attribute)}
        assert not unknown, f"not single-valued: {unknown}"
        # One pattern of all, each part under its name: 70 matches of their own took twice as long.
        self._any = regex.compile(
            "|".join(
                f"(?P<{part}_{attribute}>{'|'.join(map(self._pattern, patterns))})"
                for part in _PARTS
                for attribute, patterns in rules[part].items()
            ),
            regex.IGNORECASE,
        )
        self._needed = Needed(
            self._filled(pattern) for part in _PARTS for patterns in rules[part].values() for pattern in patterns
        )

    def may_tell(self, text: str) -> bool:
        """False only where `stated` finds nothing; cheaply told: 1 in 15 messages of real dialogue passes."""
        return self.first_person.search(text) is not None and self._needed.may_match(text)

    def stated(self, text: str) -> list[_Found]:
        if not self.may_tell(text) or not self.clauses.is_own(text):
            return []
        found: list[_Found] = []
        for sentence in self.clauses.sentences(text):
            if corrected := self._corrected(sentence, found):
                found = corrected
                continue
            if self._corrects.search(sentence):
                # Something before it was wrong: what this sentence says is right, of the rest nobody knows.
                found = []
            found += self.of_sentence(sentence)
        # An end whose successor the same message tells is a change: "I no longer work at A, I work at B".
        followed = {_state(one) for one in found if not one.statement.closes}
        succeeds = self._succeeds.search(text) is not None
        return [one for one in found if not (one.statement.closes and (succeeds or _state(one) in followed))]

    def corrects(self, text: str) -> bool:
        """Whether `text` begins by setting right what was said before it, not itself."""
        return self._begins_correcting.match(text) is not None

    def of_sentence(self, sentence: str) -> list[_Found]:
        """What its clauses tell, each state once."""
        found: dict[tuple[str, str], _Found] = {}
        readable, starts = self.clauses.starts(sentence)
        for start in starts:
            opened = self._opener.match(readable, start)
            places = {start, opened.end() if opened else start}
            match = next((match for place in places if (match := self._any.match(readable, place))), None)
            if match:
                one = self._found(match)
                found.setdefault((one.statement.subject, one.statement.attribute), one)
        return list(found.values())

    def _found(self, match: regex.Match[str]) -> _Found:
        groups = {name: text for name, text in match.groupdict().items() if text}
        part, attribute = next(name.split("_", 1) for name in groups if name.startswith(_PARTS))
        closes = part == "closing"
        subject = groups.pop("who", None) or groups.pop("o", None) or OWNER
        slot = next((name for name in groups if name in self._slots), None)
        statement = Statement(subject, attribute, groups[slot].strip() if slot else None, closes=closes)
        return _Found(statement, self._slots[slot] if slot else None, match[0])

    def _corrected(self, sentence: str, found: list[_Found]) -> list[_Found]:
        """`found` with its one value set right by "no, I meant ..."; empty where it is not clear what is meant."""
        match = self._correction.fullmatch(sentence.rstrip(".!。！ "))
        if match is None or len(found) != 1 or (slot := found[0].slot) is None:
            return []
        value = match["value"].strip()
        if slot.fullmatch(value) is None:
            return []
        statement = found[0].statement
        return [_Found(Statement(statement.subject, statement.attribute, value), slot, sentence)]

    def _pattern(self, pattern: str) -> str:
        """With the words and slots of the language in it, and where it has to end."""
        words = self._rules["words"]
        if self._rules["spaced"]:
            end = rf"(?=$|\s*[,:;()—–!]|\s-\s|\s+(?:{self._rules['tails']})\b)"
            who = rf"(?P<who>my {words['relative']}|my {words['other_relative']} (?-i:\p{{Lu}}\p{{L}}+))"
            thing = r"(?P<o>(?:the )?(?-i:\p{Lu})[\p{L}\p{N}'&-]*(?: [\p{L}\p{N}'&-]+){0,3}?)"
        else:
            end = rf"{self._rules['closers']}(?=$|[，,：:、；;。！!…—～~]|\s(?![A-Za-z0-9]))"
            who = rf"(?P<who>{words['relative']}){words['they']}"
            thing = r"(?P<o>[\p{Han}A-Za-z0-9]{1,12}?)"
        pattern = self._filled(pattern).replace("{I}", words["I"]).replace("{now}", words["now"])
        pattern = pattern.replace("{who}", who).replace("{o}", thing)
        pattern = pattern.replace("{our}", r"(?P<who>our \p{L}+)")
        return rf"(?:{pattern}){end}"

    def _filled(self, pattern: str) -> str:
        """With the slots in it."""
        for name, slot in self._slots.items():
            pattern = pattern.replace(f"{{{name}}}", f"(?P<{name}>{slot.pattern})")
        return pattern


@cache
def _languages() -> tuple[_Language, ...]:
    """Made at the first need: they take a second to compile, which not every command has to wait for."""
    return tuple(_Language(rules) for _, rules in in_every_language("patterns"))


def stated(text: str, *, owners_own: bool) -> tuple[Statement, ...]:
    """The states that `text` tells, each subject and attribute once. `owners_own`: the owner of the log wrote it;
    of what others wrote nothing is taken."""
    return tuple(one.statement for one in _found(text)) if owners_own else ()


def corrects(text: str) -> bool:
    """Whether `text` begins with a correction of what was said before it: "Correction: my number is ..."."""
    return any(language.corrects(_normal(text)) for language in _languages())


def rest(text: str) -> str:
    """What `text` tells beside what `stated` finds in it: without those words, and without its questions."""
    if len(text) > LONGEST_READ:
        return text
    told = " ".join(telling(_normal(text)))
    for one in _found(text):
        told = told.replace(one.said, " ", 1)
    return told


def _found(text: str) -> list[_Found]:
    """Two values of one state in one message contradict each other: neither counts."""
    if len(text) > LONGEST_READ:
        return []
    normal = _normal(text)
    found = [one for language in _languages() for one in language.stated(normal)]
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in found:
        values[_state(one)].add("" if one.statement.value is None else value_key(one.statement.value))
    clear = {_state(one): one for one in reversed(found) if len(values[_state(one)]) == 1}
    return list(reversed(clear.values()))


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'").strip()


def _state(one: _Found) -> tuple[str, str]:
    return subject_key(one.statement.subject), one.statement.attribute
