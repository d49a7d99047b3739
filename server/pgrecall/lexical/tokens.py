"""Text to tokens: words, CJK runs, numbers, and what has punctuation inside, whole and in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}々〇ー"
"""Scripts read as character pairs: written without spaces, or (Hangul) with endings glued to the word."""

_INNER = rf"[[\p{{L}}\p{{N}}_]--[{_UNSPACED}]]"
_PIECE = regex.compile(
    rf"(?P<run>[{_UNSPACED}][{_UNSPACED}\p{{M}}]*+)"
    r"|(?P<url>(?:https?://|www\.)[^\s<>\"'（），。]++)"
    rf"|(?P<chunk>[$€£¥₹]?{_INNER}(?:[[\p{{L}}\p{{N}}\p{{M}}_]--[{_UNSPACED}]]++"
    rf"|[.,:/@'’+&#%=?~-](?={_INNER}))*+[+#]*+)"
    r"|(?P<sign>\p{So}\p{M}*+)",
    regex.VERSION1,
)
"""Possessive: nothing is tried twice, and 5 MB without a space need no memory for ways back."""
_PLAIN_PIECE = re.compile(
    r"(?:https?://|www\.)[^\s<>\"']++"
    r"|\$?[A-Za-z0-9_](?:[A-Za-z0-9_]++|[.,:/@'+&#%=?~-](?=[A-Za-z0-9_]))*+[+#]*+",
    re.ASCII,
)
"""The same of an ASCII text, in a third of the time."""
LONGEST_IN_PARTS = 256
"""Characters of a piece that is taken apart: a longer one is no identifier, but an attachment."""
_THOUSANDS = regex.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PART = regex.compile(r"\d+(?:\.\d+)?|[\p{L}\p{M}]+")
_HUMP = regex.compile(r"\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{L}+")
_HYPHENED = regex.compile(r"\p{L}+(?:-\p{L}+)+")
"""`start-up` is found by `startup` as well."""
_OF_EVERY_ADDRESS = frozenset({"http", "https", "www", "com"})
_SIGN = regex.compile(r"\p{So}")
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*")


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """What stands in `text` (NFKC, case kept), in order: each run of an unspaced script, as ("run", it), and each
    other piece, as ("piece", it), to be taken apart by `parts`."""
    if text.isascii():
        yield from (("piece", piece) for piece in _PLAIN_PIECE.findall(text))
        return
    for match in _PIECE.finditer(text):
        yield "run" if match.lastgroup == "run" else "piece", match[0]


def parts(piece: str) -> Iterator[tuple[str, str]]:
    """Each part of a piece that is no run, with its kind: word, whole or sign."""
    if _SIGN.match(piece):
        yield "sign", piece
    elif piece.isalpha() or _WORD.fullmatch(piece):  # the first of most, and six times as fast
        yield from _words(piece)
    else:
        yield from _compound(piece.rstrip(".,:/?&#=~-'’"))


def pairs(run: str) -> list[str]:
    """Overlapping character pairs; the character itself where it stands alone."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def _compound(piece: str) -> Iterator[tuple[str, str]]:
    plain = _THOUSANDS.sub("", piece)
    yield "whole", plain
    if len(plain) > LONGEST_IN_PARTS:
        return
    if _HYPHENED.fullmatch(plain):
        yield "word", plain.replace("-", "")
    found = _PART.findall(plain)
    if len(found) > 1 or found != [plain]:
        for part in found:
            if part[0].isdigit():
                yield "whole", _unpadded(part)
            elif part not in _OF_EVERY_ADDRESS:
                yield from _words(part)


def _words(letters: str) -> Iterator[tuple[str, str]]:
    """The word, and what camel case joins in it."""
    yield "word", letters
    if letters.isalpha() and not letters.islower() and not letters.isupper():
        humps = _HUMP.findall(letters)
        if len(humps) > 1:
            yield from (("word", hump) for hump in humps)


def _unpadded(number: str) -> str:
    """`07` in a date and `7` elsewhere are one number; `0` stays."""
    return number.lstrip("0") or "0" if number.isdigit() and len(number) <= 2 else number
