"""From the forms of a data file to regular expressions.

In a form a space stands for white space, `{slot}` for the words and numbers of the table of that name
(`{slot=table}` where the names differ, `{^slot}` with a capital), `{*part}` for a part that fills no slot.
All else is a regular expression, matched in lower case, or as the text stands where the entry is `cased`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import regex

from pgrecall.temporal.forms import NUMBER, NUMBERS, Form, Forms, Table
from pgrecall.temporal.resolving import ABSOLUTE, NOTHING, RELATIVE
from pgrecall.temporal.tense import Signs

_SLOT = regex.compile(r"\{(\^?)([a-z_]+2?)(?:=([a-z_]+))?\}")
_OPTIONAL = regex.compile(r"\p{L}\?")
_PART = regex.compile(r"\{\*([a-z_]+)\}")


class Spelling:
    """What forms are written with: the tables of slots, the parts, the white space of a language."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._words = {name: _table(words) for name, words in data["words"].items()}
        self._numbers: Mapping[str, str] = data["numbers"]
        self._parts: Mapping[str, str] = data["parts"]
        self._space: str = data["space"]
        self._around: Mapping[str, str] = data["around"]
        self._probes: Mapping[str, list[str]] = _probes(data)

    def forms(self, entries: Iterable[Mapping[str, Any]]) -> Forms:
        """Raises ValueError where one names a rule or a table that is not there."""
        return Forms([self._form(entry, form) for entry in entries for form in entry["forms"]], self._probes)

    def signs(self, data: Mapping[str, Any]) -> Signs:
        """`marks`, `words`, `endings` and `phrases`, each by kind. A phrase is the words it may open with, a
        space, and the rest."""
        phrases: dict[str, list[tuple[regex.Pattern[str], str]]] = {}
        for kind, written in data.get("phrases", {}).items():
            for openers, _, rest in (phrase.partition(" ") for phrase in written):
                for opener in openers.split("|"):
                    expression = compiled(f"{regex.escape(opener)}{self._space}(?:{self.spelt(rest)})")
                    phrases.setdefault(opener, []).append((expression, kind))
        return Signs(
            marks=compiled("|".join(f"(?P<{kind}>{source})" for kind, source in data["marks"].items())),
            words=_by_word(data.get("words", {})),
            phrases=phrases,
            endings=_by_word(data.get("endings", {})),
        )

    def spelt(self, form: str) -> str:
        """`form` with its parts and white space spelt out."""
        while (spelt := _PART.sub(lambda part: self._parts[part[1]], form)) != form:
            form = spelt
        return form.replace(" ", self._space)

    def _form(self, entry: Mapping[str, Any], written: str) -> tuple[Form, regex.Pattern[str]]:
        """The form, and its expression freed of what must stand before it and of case."""
        if entry["rule"] not in (NOTHING, *ABSOLUTE, *RELATIVE):
            raise ValueError(f"no rule {entry['rule']!r}")
        tables: dict[str, Table] = {}
        capitals: list[str] = []

        def group(slot: regex.Match[str]) -> str:
            name, table = slot[2], slot[3] or slot[2]
            kinds = self._kinds(table)
            if name in tables:  # the second of two ways to fill a slot that no rule reads
                return f"(?:{kinds})"
            tables[name] = self._words.get(table, {})
            capitals.extend([name] if slot[1] else [])
            return f"(?P<{name}>{kinds})"

        before, after = self.spelt(self._around["before"]), self.spelt(self._around["after"])
        core = f"(?:{_SLOT.sub(group, self.spelt(written))}){after}"
        behind = f"(?<={entry['behind']})" if "behind" in entry else ""
        form = Form(
            name=entry.get("name", entry["rule"]),
            rule=entry["rule"],
            expression=compiled(f"{before}{behind}{core}"),
            cased=entry.get("cased", False),
            given=entry.get("with", {}),
            tables=tables,
            capitals=capitals,
        )
        if form.cased or behind:
            return form, compiled(f"(?i:{core})" if form.cased else core)
        return form, form.expression

    def _kinds(self, table: str) -> str:
        """What a word of the table may be: the longer before the shorter, words before numbers."""
        words = sorted(map(regex.escape, self._words.get(table, {})), key=len, reverse=True)
        numbers = self._numbers.get(table)
        if not words and numbers is None:
            raise ValueError(f"no table {table!r}")
        return "|".join([*words, *([numbers] if numbers is not None else [])])


def _probes(data: Mapping[str, Any]) -> dict[str, list[str]]:
    """Every word of the grammar, and NUMBER, with ways in which a text may go on after it."""
    written = [*data["words"].values(), *data["parts"].values()]
    written += [form for entry in data["grammar"]["forms"] for form in entry["forms"]]
    written += [_OPTIONAL.sub("", text) for text in written]
    openers = compiled(data["openers"])
    words = {word.lower() for text in written for word, _ in openers.findall(text)}
    ends = data["ends"]
    probes = {word: [word + end for end in ends] for word in sorted(words) if not word.isdigit()}
    probes[NUMBER] = [number + end for number in NUMBERS for end in [*ends, "t", "s"]]
    return probes


def _by_word(kinds: Mapping[str, str]) -> dict[str, str]:
    return {word: kind for kind, words in kinds.items() for word in words.split()}


def _table(words: str) -> Table:
    """`one=1 two=2`."""
    return {word: int(value) for word, _, value in (one.partition("=") for one in words.split())}


def compiled(source: str) -> regex.Pattern[str]:
    return regex.compile(source, regex.VERSION1)
