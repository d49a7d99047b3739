"""What a question asks for where no frame fits it, by words that tell an attribute wherever they stand: a cue,
whom it is about, and between them nothing that is not known to tell nothing.

Only attributes of which a subject has one: of shared ones a frame tells which is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import regex

from pgrecall.versions.registry import REGISTRY, is_shared
from pgrecall.versions.statements import OWNER

LONGEST_CORE = 120
"""Characters; of a longer question more is said than what it asks for."""

_WHOSE = "§"
_TWICE = regex.compile(r"§(?:\s*§)+")


@dataclass(frozen=True, slots=True)
class Cued:
    """What is asked for; whether in the past tense."""

    subject: str
    attributes: tuple[str, ...]
    past: bool


class Cues:
    """The cues of one language."""

    def __init__(self, rules: dict[str, Any]) -> None:
        self._spaced: bool = rules["spaced"]
        edge = (r"(?<![\p{L}\p{N}§])(?:", r")(?![\p{L}\p{N}])") if self._spaced else ("(?:", ")")
        names = list(rules["cues"])
        unknown = {name for several in names for name in several.split()} - {
            name for name in REGISTRY if not is_shared(name)
        }
        assert not unknown, f"not in the registry, or shared: {unknown}"
        self._attributes = {f"a{place}": tuple(several.split()) for place, several in enumerate(names)}
        self._indirect = _pattern("|".join(rules["indirect"]))
        self._subject = _pattern(_subjects(rules))
        cues = (f"(?P<a{place}>{'|'.join(own)})" for place, own in enumerate(rules["cues"].values()))
        self._cue = _pattern("|".join(cues).join(edge))
        self._filler = _pattern("|".join([*rules["fillers"], _WHOSE]).join(edge))
        self._last = _pattern(f"{rules['last'].join(edge)}$")
        self._of_owner = frozenset(rules["of_owner"])
        self._past = _pattern(rules["past"].join(edge))

    def plain(self, question: str) -> str:
        """`question` with its indirect ways to ask taken out; about its writer where it had such."""
        return self._indirect.sub(f" {_WHOSE} " if self._spaced else "", question)

    def asked(self, core: str) -> Cued | None:
        """What `core` asks for; None in doubt."""
        if len(core) > LONGEST_CORE:
            return None
        marked, subjects = self._whose(core)
        if len(subjects) > 1:
            return None
        found: set[str] = set()

        def taken(match: regex.Match[str]) -> str:
            found.add(match.lastgroup or "")
            return " "

        rest = self._cue.sub(taken, marked)
        if len(found) != 1:
            return None
        rest = self._filler.sub(" ", self._last.sub(" ", rest.strip()))
        if regex.search(r"[\p{L}\p{N}]", rest):
            return None
        attributes = self._attributes[found.pop()]
        if not subjects and self._of_owner.isdisjoint(attributes):
            return None
        return Cued(next(iter(subjects), OWNER), attributes, self._past.search(core) is not None)

    def _whose(self, core: str) -> tuple[str, tuple[str, ...]]:
        """`core` with § for whom it is about; and who that is, whoever puts it on a form."""
        whose: dict[str, str] = {}

        def taken(match: regex.Match[str]) -> str:
            name = match["other"] or OWNER
            whose.setdefault(name.casefold(), name)
            return f" {_WHOSE} " if self._spaced else _WHOSE

        marked = " ".join(_TWICE.sub(_WHOSE, self._subject.sub(taken, core)).split())
        return marked, tuple(whose.values()) or ((OWNER,) if _WHOSE in core else ())


def _subjects(rules: dict[str, Any]) -> str:
    roles = rules["roles"]
    if not rules["spaced"]:
        return rf"(?P<other>(?:{roles})(?:的|家的?)?)|(?:我们|咱们|我自己|我|咱|俺|本人)(?:自己)?的?"
    name = rf"(?-i:(?!{rules['no_names']}(?:s?\b|'))\p{{Lu}}[\p{{L}}-]+)"
    person = rf"(?:my|our|the) {roles}(?: {name}){{0,2}}|{name}(?: {name}){{0,2}}(?:'s {roles})?"
    return (
        rf"(?<![\p{{L}}\p{{N}}'])(?:(?P<other>(?:{person})(?: from \p{{L}}+)?)(?:'s?)?"
        r"|(?:my|our|i|we|me|us|mine|ours|myself)(?:'m|'ve|'re)?)(?![\p{L}\p{N}'])"
    )


def _pattern(expression: str) -> regex.Pattern[str]:
    return regex.compile(expression, regex.IGNORECASE)
