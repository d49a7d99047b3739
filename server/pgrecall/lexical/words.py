"""One word to its term: folding, stop words, the English stemmer."""

from __future__ import annotations

import threading
import unicodedata

import regex
import Stemmer

from pgrecall.stopwords import is_stop_word

_MARKS = regex.compile(r"(?<=[\p{Latin}\p{Greek}])\p{Mn}+")
_UNMARKED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
"""Latin letters whose mark is part of the letter: Unicode decomposes none of them."""

_stemmers = threading.local()
"""A Stemmer is not to be shared between threads."""


def fold(text: str) -> str:
    """Case folded, without the marks of Latin and Greek letters: `Malmö` and `malmo` are one word.

    Marks of other scripts make other letters (Cyrillic й, Japanese が) and stay.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    unmarked = _MARKS.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", unmarked).translate(_UNMARKED)


def term_of(word: str) -> str | None:
    """The term of a folded word: its English stem where it is of Latin letters; None for a stop word."""
    if is_stop_word(word):
        return None
    word = word.removesuffix("'s").replace("'", "")
    if not word or is_stop_word(word):
        return None
    return _stem(word) if word.isascii() and word.isalpha() else word


def _stem(word: str) -> str:
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word))
