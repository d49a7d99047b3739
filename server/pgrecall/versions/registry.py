"""The attributes whose values are followed over time, and how a language model is asked for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pgrecall.versions.packaged import packaged


@dataclass(frozen=True, slots=True)
class Attribute:
    """`single`: it has one value at a time, so a new one replaces the old. `shared`: one subject may have several
    of them, each with one value at a time: appointments, budgets. `said`: how it is said, by language."""

    name: str
    single: bool
    shared: bool
    said: Mapping[str, str]
    examples: tuple[str, ...]


def _attribute(name: str, entry: dict[str, object]) -> Attribute:
    examples = entry.pop("examples")
    single, shared = entry.pop("single"), entry.pop("shared", False)
    assert isinstance(examples, list)
    assert isinstance(single, bool)
    assert isinstance(shared, bool)
    said = {language: str(phrase) for language, phrase in entry.items()}
    return Attribute(name, single, shared, MappingProxyType(said), tuple(str(example) for example in examples))


REGISTRY: Mapping[str, Attribute] = MappingProxyType(
    {name: _attribute(name, dict(entry)) for name, entry in packaged("attributes").items()}
)
"""By name, in the order of attributes.toml."""


def is_single(attribute: str) -> bool:
    """Whether `attribute` is one of the registry that has one value at a time."""
    known = REGISTRY.get(attribute)
    return known is not None and known.single


def is_shared(attribute: str) -> bool:
    """Whether one subject may have several of `attribute`: a question's own word then tells which."""
    known = REGISTRY.get(attribute)
    return known is not None and known.shared


def registry_prompt() -> str:
    """What to join to the prompt that asks for facts: the names, and how a fact's five keys are filled.

    Without the phrases of `said`: the names say as much to a model, in half the tokens.
    """
    names = {
        single: ", ".join(name for name, attribute in REGISTRY.items() if attribute.single is single)
        for single in (True, False)
    }
    return f"""\
A fact that tells a state also has subject, attribute, value, relative and closes:
- "attribute": one of these, of one value at a time: {names[True]}; or of several: {names[False]}. Else null, \
and value null: for plans, wishes, hypotheticals, jokes, quotations, past habits, single events.
- "subject": "owner" for the owner; else the name, role or thing as said: "my sister", "Nora", "France".
- "value": the bare state in words of the lines: "Porto", not "I live in Porto". The new one where it changed.
- "relative": true where it is told relative to an old value; value is then those words: "one more".
- "closes": true where it ends and none follows ("I sold the car"); value is what ended, or null.
{{"fact": "I moved to Porto.", "lines": [3], "subject": "owner", "attribute": "residence", "value": "Porto", \
"relative": false, "closes": false}}"""
