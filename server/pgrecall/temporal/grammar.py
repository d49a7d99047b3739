"""The grammars there are, each read from its data file. Another language joins by another file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import regex

from pgrecall.temporal.forms import Forms
from pgrecall.temporal.spelling import Spelling, compiled
from pgrecall.temporal.tense import Signs

FOLDER = Path(__file__).parent
NAMES = ("english", "chinese")
"""The data files, in the order of their say where two find the same words."""


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    triggers: regex.Pattern[str]
    """Found in every expression, and seldom elsewhere."""
    reach: int
    """Characters before a trigger in which its expression may begin."""
    openers: regex.Pattern[str]
    """A word that may open a form, or a number."""
    telling: Forms
    asking: Forms
    """What only questions are read for, and first."""
    since: Sequence[tuple[regex.Pattern[str], regex.Pattern[str]]]
    """What stands before and after the beginning of what lasts."""
    bounds: tuple[regex.Pattern[str], regex.Pattern[str]]
    """What stands before or after a time in a question that asks for what lies outside of it."""
    signs: Signs
    """Of tense."""
    gloss: Mapping[str, str]
    """What is written beside an expression, by the name of its form, else by its grain."""
    names: Mapping[str, Sequence[str]]
    """Of months, weekdays, seasons and quarters, as a gloss says them."""


@cache
def languages() -> tuple[Language, ...]:
    """Every language there is a grammar of."""
    return tuple(
        parse(name, tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))) for name in NAMES
    )


def parse(name: str, data: Mapping[str, Any]) -> Language:
    """Raises KeyError or ValueError where the data are not a grammar."""
    source = Spelling(data)
    entries = data["grammar"]["forms"]
    return Language(
        name=name,
        triggers=compiled("|".join(data["triggers"])),
        reach=data["reach"],
        openers=compiled(data["openers"]),
        telling=source.forms(one for one in entries if not one.get("asked")),
        asking=source.forms(one for one in entries if one.get("asked")),
        since=[(compiled(source.spelt(one) + "$"), compiled(source.spelt(other))) for one, other in data["since"]],
        bounds=(compiled(source.spelt(data["before"])), compiled(source.spelt(data["after"]))),
        signs=source.signs(data["signs"]),
        gloss=data["gloss"],
        names=data["names"],
    )
