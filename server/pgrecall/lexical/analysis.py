"""The analysis: what of a text counts when words are compared. One for messages, facts and queries."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from pgrecall.lexical.tokens import pairs, parts, pieces
from pgrecall.lexical.words import fold, term_of
from pgrecall.stopwords import content_runs

VERSION = 3
"""Raise it with any change of what a text's terms are: stored memories are then analysed again."""

LONGEST_TERM = 64
"""Bytes of UTF-8; a longer term is kept as a hash."""
SPELT_LETTERS = range(4, 33)
"""Letters of the words whose misspellings are looked for: under four, every other word is near."""
LONGEST_KEPT = 32
"""Letters of a piece whose terms are remembered, in some 8 MB: most are words that were met before. With the quick
way through an ASCII text an Add of 15 messages spends 0.5 ms on its terms in place of 1.3."""

_SHAPING = regex.compile(r"[\u00ad\u200c\u200d\ufe00-\ufe0f]")
_TOO_MANY_MARKS = regex.compile(r"(\p{M}{16})\p{M}++")


@dataclass(frozen=True, slots=True)
class Analysis:
    """`terms`: each term with how often it stands in the text. `words`: what may be written otherwise (words of
    4 to 32 letters, character pairs), each with its term."""

    terms: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Terms, repeats counted."""
        return self.terms.total()


def analyse(text: str, *, asking: bool = False) -> Analysis:
    """The terms of `text` in the order they stand there, and the words they come from.

    `asking`: of a question, the pairs that what it only asks with makes with its neighbours are left out.
    """
    analysis = Analysis()
    counts, words = analysis.terms, analysis.words
    for kind, piece in pieces(_normalised(text)):
        if kind == "run":
            folded = fold(piece)
            for run in content_runs(folded) if asking else [folded]:
                for pair in pairs(run):
                    counts[pair] += 1
                    words[pair] = pair
            continue
        for term, word in _known_terms(piece) if len(piece) <= LONGEST_KEPT else _terms(piece):
            counts[term] += 1
            if word is not None:
                words[word] = term
    return analysis


def _terms(piece: str) -> tuple[tuple[str, str | None], ...]:
    """The terms of a piece that is no run, each with its word where that may be written otherwise."""
    found: list[tuple[str, str | None]] = []
    for kind, part in parts(piece):
        folded = fold(part.replace("’", "'"))
        if kind != "word":
            found.append((bounded(folded), None))
        elif (term := term_of(folded)) is not None:
            found.append((bounded(term), folded if len(folded) in SPELT_LETTERS else None))
    return tuple(found)


_known_terms = lru_cache(maxsize=1 << 15)(_terms)


def _normalised(text: str) -> str:
    """NFKC, without what only shapes letters: variation selectors, soft hyphens, joiners.

    Of marks that follow each other 16 stay: normalising sorts them in quadratic time.
    """
    return unicodedata.normalize("NFKC", _TOO_MANY_MARKS.sub(r"\1", _SHAPING.sub("", text)))


def bounded(term: str) -> str:
    """`term`, or where it is over 64 bytes `#` and 32 hexadecimal digits of its SHA-256."""
    encoded = term.encode("utf-8", "surrogatepass")
    return term if len(encoded) <= LONGEST_TERM else "#" + hashlib.sha256(encoded).hexdigest()[:32]
