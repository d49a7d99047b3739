"""What a question asks of states that change: the present one, the one at a date, how it changed. Told by rules
that are data, a file a language. In doubt OTHER and no attribute: nothing is then withheld.
"""

from __future__ import annotations

import enum
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import regex

from pgrecall.versions.cues import Cues
from pgrecall.versions.packaged import in_every_language, packaged
from pgrecall.versions.registry import REGISTRY, is_shared
from pgrecall.versions.statements import OWNER

LONGEST_READ = 300
"""Characters of a question; a longer one is a story, and what it asks is in doubt."""

_THING = "[^,，?!]{1,60}?"
"""What a frame takes for a thing; it is looked at closely when the frame fits. Looked at in each frame, it took
seconds to compile."""


class Wanted(enum.StrEnum):
    """What a question asks for."""

    CURRENT = "current"
    DATED = "dated"
    HISTORY = "history"
    EVENT = "event"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Asked:
    """A state that is asked for. `kind`: the word that tells one of several apart: `optician`, of appointments."""

    subject: str
    attribute: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    wanted: Wanted
    asked: tuple[Asked, ...]


def wanted(question: str) -> Wanted:
    """What `question` asks for."""
    return _read(question).wanted


def attributes_asked(question: str) -> tuple[Asked, ...]:
    """The states that `question` asks for, where all of it is understood; the subject as it is named there."""
    return _read(question).asked


class _Language:
    """The rules of one language."""

    def __init__(self, rules: dict[str, Any], cues: Cues) -> None:
        self._rules = rules
        self._cues = cues
        self.reads = _pattern(rules["reads"])
        self._opener = _pattern("|".join(rules["openers"]))
        self._closer = _pattern(f"(?:{'|'.join(rules['closers'])})$")
        self.spaced: bool = rules["spaced"]
        """Whether words are set apart: then signs are whole words."""
        edge = (r"\b(?:", r")\b") if self.spaced else ("(?:", ")")
        self._present = _pattern(rules["present"].join(edge))
        self._tensed = _pattern(rules.get("any_present", ""))
        self._history = _pattern("|".join(rules["history"]).join(edge))
        dates = "|".join(rules["dates"]).replace("{month}", rules["month"])
        self._date = _pattern(rf"(?<![\p{{L}}\p{{N}}])(?:{dates})(?![\p{{L}}\p{{N}}])" if self.spaced else dates)
        self._event = _pattern(rules["event"])
        self._interrogative = _pattern(rules["interrogative"].join(edge))
        frames = self._all()
        self._attributes = {f"a{place}": names.split() for place, names in enumerate(frames)}
        self._frames = _pattern(
            "|".join(f"(?P<a{n}>{'|'.join(map(self._frame, own))})" for n, own in enumerate(frames.values()))
        )
        self._thing = _pattern(rules["thing"])
        self._owned = _pattern(rules["owned"])

    def read(self, question: str) -> _Reading:
        text = question if self.spaced else question.replace(" ", "")
        dated = self._date.search(text)
        # What a date says ("three weeks ago", "两年前") is no sign of history, nor is March one of moving.
        undated = self._cues.plain(f"{text[: dated.start()]} {text[dated.end() :]}" if dated else text)
        if self._history.search(undated):
            return _Reading(Wanted.HISTORY, ())
        core, present = self._core(undated)
        asked, then = self._cued(core, bool(dated), present)
        if not asked:
            asked, then = self._asked(core)
        if dated and present:
            return _Reading(Wanted.OTHER, ())
        if dated:
            if asked:
                return _Reading(Wanted.DATED, asked)
            return _Reading(Wanted.EVENT if self._event.search(undated) else Wanted.OTHER, ())
        if asked:
            return _Reading(Wanted.OTHER, ()) if then else _Reading(Wanted.CURRENT, asked)
        if present and self._tensed.search(core):
            return _Reading(Wanted.CURRENT, ())
        return _Reading(Wanted.EVENT if self._event.search(core) else Wanted.OTHER, ())

    def _core(self, text: str) -> tuple[str, bool]:
        """The question without date, openers, closers and signs of the present; whether there were such."""
        core, signs = self._present.subn(" " if self.spaced else "", text)
        core = _tidy(core, self.spaced)
        for _ in range(3):
            if match := self._opener.match(core):
                core = core[match.end() :]
            core = _tidy(self._closer.sub("", core), self.spaced)
        return core, signs > 0

    def _asked(self, core: str) -> tuple[tuple[Asked, ...], bool]:
        """The states whose frame `core` is; whether in the past tense. The first frame that fits is the one."""
        match = self._frames.fullmatch(core)
        if match is None:
            return (), False
        groups = {name: text for name, text in match.groupdict().items() if text}
        subject = groups.get("n") or groups.get("s") or groups.get("o") or OWNER
        subject = subject.strip().removesuffix("'s").removesuffix("的")
        if subject.casefold() in _OWNERS:
            subject = OWNER
        if not self._thing.fullmatch(subject):
            return (), False
        attributes = next(names for group, names in self._attributes.items() if group in groups)
        # When we met is an event; when our choir meets is a state of the choir.
        known = [] if subject == OWNER and "meeting_time" in attributes else attributes
        asked = [Asked(subject, name, groups.get("kind")) for name in known]
        asked += [own for one in asked if (own := self._of_owner(one))]
        return tuple(asked), "then" in groups

    def _of_owner(self, asked: Asked) -> Asked | None:
        """The same as a state of the owner: "my thesis is due" may be kept as a deadline of theirs, of a thesis."""
        thing = self._owned.match(asked.subject)
        if thing is None or not is_shared(asked.attribute) or asked.attribute == "meeting_time":
            return None
        return Asked(OWNER, asked.attribute, asked.kind or thing["thing"])

    def _cued(self, core: str, dated: bool, present: bool) -> tuple[tuple[Asked, ...], bool]:
        """The states that cues in `core` ask for. A noun alone asks for none: it takes a date or a sign of now."""
        if not (dated or present or self._interrogative.search(core)):
            return (), False
        cued = self._cues.asked(core)
        return (tuple(Asked(cued.subject, name) for name in cued.attributes), cued.past) if cued else ((), False)

    def _all(self) -> dict[str, list[str]]:
        """Each attribute with its frames, those of its nouns with them."""
        frames = {names: list(own) for names, own in self._rules["frames"].items()}
        for name, nouns in self._rules["nouns"].items():
            noun = (("{kind}" if is_shared(name) else "") + nouns) if self.spaced else nouns
            frames.setdefault(name, []).extend(
                frame.replace("{noun}", noun) for frame in self._rules["noun_frames"]
            )
        unknown = {name for names in frames for name in names.split()} - set(REGISTRY)
        assert not unknown, f"not in the registry: {unknown}"
        return frames

    def _frame(self, frame: str) -> str:
        whose = f"(?:(?P<s>my|our)|(?P<s>{_THING})'s?)" if self.spaced else f"(?P<s>{_THING})的?"
        return (
            frame.replace("{do}", "(?:(?P<now>do|does)|(?P<then>did))")
            .replace(" {be}", "(?: (?P<now>am|is|are)|'(?P<now>s|re)| (?P<then>was|were))")
            .replace("{be}", "(?:(?P<now>am|is|are)|(?P<then>was|were))")
            .replace("{have}", "(?:(?P<now>have|has)|(?P<then>had))")
            .replace("{kind}", self._rules["kind"])
            .replace("{n}", f"(?P<n>{_THING})")
            .replace("{o}", f"(?P<o>{_THING})")
            .replace("{s}", whose)
        )


_OWNERS = frozenset(("i", "we", "my", "our", "me", "us", "我", "我们", "咱", "咱们", "本人", "自己", "我自己"))


def _pattern(expression: str) -> regex.Pattern[str]:
    return regex.compile(expression, regex.IGNORECASE)


def _tidy(text: str, spaced: bool) -> str:
    return " ".join(text.split()).replace(" ,", ",").strip(" ,，、:：;；") if spaced else text.strip("，,、：: ")


@cache
def _languages() -> tuple[_Language, ...]:
    """Made at the first need: they take a second to compile, which not every command has to wait for."""
    return tuple(
        _Language(rules, Cues(packaged(f"cues_{language}"))) for language, rules in in_every_language("questions")
    )


@lru_cache(maxsize=1 << 10)
def _read(question: str) -> _Reading:
    """As the first language reads it that understands anything of it."""
    text = " ".join(unicodedata.normalize("NFKC", question[: 4 * LONGEST_READ]).replace("’", "'").split())
    text = text.rstrip("?!.。 ")
    if len(text) > LONGEST_READ or regex.search(r"[.?!。;；]\s*\S", regex.sub(r"\b\p{L}{1,3}\.", "", text)):
        return _Reading(Wanted.OTHER, ())
    readings = [language.read(text) for language in _languages() if language.reads.search(text)]
    return next((one for one in readings if one.wanted is not Wanted.OTHER), _Reading(Wanted.OTHER, ()))
