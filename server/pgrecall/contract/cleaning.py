"""What must not reach Postgres, an embedder or a reader is taken out of text; all else stays verbatim."""

from __future__ import annotations

import re

_LINE_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85]")
"""Vertical tab, form feed and NEL part lines in text taken from PDFs: removed, they would glue words."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INVISIBLE = re.compile(r"[\s\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*")


def clean(text: str) -> str:
    """`text` without NUL and control characters, line breaks as \\n, always encodable as UTF-8.

    Surrogates that form a pair (CESU-8, as Java and MySQL write it) become their character, lone ones
    U+FFFD. Directional marks and zero-width joiners stay: scripts and emoji need them.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", _LINE_BREAK.sub("\n", text))


def single_line(text: str) -> str:
    """`text` cleaned, every run of white space one space, none at the ends."""
    return " ".join(clean(text).split())


def is_blank(text: str) -> bool:
    """Nothing in it that a reader could see."""
    return _INVISIBLE.fullmatch(text) is not None
