"""Whether a fact says only names and numbers that its lines hold.

A language model that misreads a log most often invents exactly these. Names are words with an upper-case
letter, so scripts without case (Chinese, Arabic, ...) are guarded by their numbers alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[,'’]\d{3})+(?!\d)|\d+")
"""1,000 and 1'000 are one number; 3.5 and 2023-05-20 are the digit runs they show."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
"""O'Brien and McDonald's are one word, Jean-Luc is two."""

_STAMP = re.compile(r"\[\d{4}-(\d{2})-\d{2}")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

_FIRST_PERSON = frozenset({"i", "i'm", "i've", "i'd", "i'll"})

_OPENING_WORDS = """
    a about after all also although an and another any are as at because before both but by did do does
    during each either even every few for from had has have he her here hers his how however if in instead
    is it its last later like many me mine most my myself near neither next no none nobody nothing not now
    of off on once one only or other our ours over she since so some someone something sometimes still such
    than that the their them then there these they this those though through to today together tomorrow
    too under until up upon was we were what whatever when whenever where whether which while who whose why
    with within without would yes yesterday yet you your
    ich mein meine meinem meinen meiner mir mich wir unser unsere der die das ein eine im am
    je j'ai mon ma mes nous notre nos le la les un une
    yo mi mis nosotros nuestro nuestra el los las una
    eu meu minha meus minhas nós nosso nossa o os as um uma io mio mia miei mie il lo gli
    ik mijn wij ons onze het een jag min mitt mina vi jeg mitt ja mój moja moje
    я мой моя моё мои мне меня у мы наш наша"""
"""Words that begin a sentence in capitals without naming anyone: function words, mostly English, and the
first person of other languages, in which facts are told. Not "will" or "may": they are names too."""
_OPENERS = frozenset(_OPENING_WORDS.split())

_SENTENCE_END = frozenset(".!?:;…。！？\n")
_QUOTES = " \t\"'“”‘’«»„()[]*-–—•"


def holds(lines: Sequence[str], fact: str) -> bool:
    """Whether every number and every name of `fact` stands in `lines` (as rendered: with date, speaker).

    Compared without case, possessive, thousands separators or leading zeros. The month of a line's date
    may be named in English. A quotation from the lines always passes.
    """
    text = "\n".join(lines)
    if squeeze(fact) in squeeze(text):
        return True
    text, fact = unicodedata.normalize("NFKC", text), unicodedata.normalize("NFKC", fact)
    if not set(_numbers(fact)) <= set(_numbers(text)):
        return False
    words = {form for match in _WORD.finditer(text) for form in _forms(match.group())}
    words.update(_MONTHS[int(month) - 1] for month in _STAMP.findall(text) if 1 <= int(month) <= 12)
    return all(words & _forms(name) for name in _names(fact))


def squeeze(text: str) -> str:
    """`text` with every run of whitespace as one space, none at the ends."""
    return " ".join(text.split())


def _numbers(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        digits = "".join(str(unicodedata.digit(mark)) for mark in match.group() if mark.isdecimal())
        yield digits.lstrip("0") or "0"


def _names(fact: str) -> Iterator[str]:
    """Words with an upper-case letter, other than "I" and what merely begins a sentence."""
    for match in _WORD.finditer(fact):
        word = match.group()
        if word == word.lower():
            continue
        folded = word.casefold().replace("’", "'")
        before = fact[: match.start()].rstrip(_QUOTES)
        opens = not before or before[-1] in _SENTENCE_END
        if folded in _FIRST_PERSON or (opens and folded in _OPENERS):
            continue
        yield word


def _forms(word: str) -> set[str]:
    """The ways one word is written: "McDonald's" is mcdonald's, mcdonald and mcdonalds."""
    folded = word.casefold().replace("’", "'")
    return {folded, folded.removesuffix("'s"), folded.replace("'", "")}
