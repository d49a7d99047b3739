"""One state of one subject, and when two subjects or two values are the same. Pure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import regex

from pgrecall.versions.packaged import packaged

OWNER = "owner"
"""The subject that is the owner of the log."""


@dataclass(frozen=True, slots=True)
class Statement:
    """`relative`: told relative to the value before ("one more"). `closes`: the state ends and none follows; the
    value is then what ended, or None."""

    subject: str
    attribute: str
    value: str | None
    relative: bool = False
    closes: bool = False


_LOOSE = regex.compile(
    r"['’]"  # O'Brien, OBrien
    r"|(?<=\d),(?=\d{3}(?!\d))"  # 1,200
)
_MARK = regex.compile(
    r"(?<![\p{L}\p{N}])\.|\.(?![\p{L}\p{N}])"  # a.b@c.org, 3.5 and v1.2 keep theirs
    r"|(?<!\d)[:：]|[:：](?!\d)"  # 7:30
    r"|(?<=[\p{L}\p{N}\s])[\p{Pd}_](?!\d)|(?<=\p{L})[\p{Pd}_]"  # -5 and 3-4 keep theirs
    r"|[^\P{P}.:：\p{Pd}_#%@&*/]+"
)
_SPACE = regex.compile(
    r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}])\s+|\s+(?=[\p{Han}\p{Hiragana}\p{Katakana}])"
    r"|(?<=\d)\s+(?=\p{L})|(?<=\p{L})\s+(?=\d)"  # 72 kg, iPhone 15
)
_ARTICLE = regex.compile(r"(?:an?|the)\s+(?=\S)")
_PHONE = regex.compile(r"\+?[\d\s()/-]+")
_DATE = regex.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}")
FEWEST_DIGITS = 7
"""Of a phone number, whose spacing says nothing; under that 3-4 and 34 are two values."""

_SUBJECTS = packaged("subjects")
_OWNERS = frozenset(_SUBJECTS["owner"])
_SAME: dict[str, str] = {word: words[0] for words in _SUBJECTS["same"] for word in words}
_POSSESSIVE = regex.compile(
    "|".join(f"{word}\\s+" if word.isascii() else word for word in sorted(_SUBJECTS["possessives"], key=len)[::-1])
)


@lru_cache(maxsize=1 << 14)
def value_key(value: str) -> str:
    """`value` for comparison: case, spacing, punctuation and a leading article folded, nothing that tells values
    apart: 1.5 is not 15, C++ not C, -5 not 5. Spelling, marks of letters and units stay."""
    text = unicodedata.normalize("NFKC", value).casefold().strip()
    if _PHONE.fullmatch(text) and not _DATE.fullmatch(text):
        digits = "".join(char for char in text if char.isdigit())
        if len(digits) >= FEWEST_DIGITS:
            return digits
    text = " ".join(_MARK.sub(" ", _LOOSE.sub("", text)).split())
    return _SPACE.sub("", _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text) or text or value


@lru_cache(maxsize=1 << 14)
def subject_key(subject: str) -> str:
    """`subject` for comparison: as of values, and whose it is left out: `my sister`, `sister` and `My sister's` are
    one, `Nora's sister` is another."""
    text = " ".join(unicodedata.normalize("NFKC", subject).casefold().replace("’", "'").split())
    if text in _OWNERS:
        return OWNER
    text = text.removesuffix("'s").removesuffix("的")
    if (match := _POSSESSIVE.match(text)) and match.end() < len(text):
        text = text[match.end() :]
    key = value_key(text)
    return _SAME.get(key, key)


def states(statement: Statement) -> bool:
    """Whether it names a state that a chain can hold."""
    return statement.value is not None or statement.closes or statement.relative
