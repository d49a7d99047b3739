"""A question to the terms that the log is asked for, and to what each may be a misspelling of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice

from pgrecall.lexical.analysis import Analysis, analyse
from pgrecall.lexical.dates import date_terms
from pgrecall.memory import AskedTerm
from pgrecall.temporal.expressions import TimeExpression

LONGEST_READ = 10_000
"""Characters of a query that are read for terms, some 5 ms; its vector is of all of it."""
MOST_TERMS = 256
"""Terms of one question that are looked up: a pasted page would read the user's whole index."""
MOST_SPELT = 32
"""Terms whose misspellings are looked up."""
TWICE_MISSPELT = 8
"""Letters from which a word may lack two: shorter ones are then near to too many."""

_INTERROGATIVES = frozenset(
    ("what", "when", "where", "who", "whom", "whose", "which", "why", "how", "many", "much", "long", "did")
)
"""They ask, and seldom stand in what answers: without them any@20 rose from .854 to .866."""


def asked_terms(
    query: str,
    options: Sequence[str] = (),
    key_words: Sequence[str] = (),
    times: Sequence[TimeExpression] = (),
    *,
    number_weight: float,
    option_weight: float,
) -> tuple[AskedTerm, ...]:
    """The terms of a question, each once: its own first, then the dates that it names, then the terms of the answer
    choices and of a model's key words, at `option_weight`: one choice is right, and the others lead astray."""
    question = analyse(query[:LONGEST_READ], asking=True)
    of_options = [analyse(text, asking=True) for text in (*options, *key_words)]
    own = [
        term
        for term in islice(question.terms, MOST_TERMS)
        if term not in _INTERROGATIVES and (number_weight > 0 or not term[:1].isdigit())
    ]
    asked = [
        AskedTerm(
            term,
            number_weight if term[:1].isdigit() else 1.0,
            _keys(question, term) if place < MOST_SPELT else (),
        )
        for place, term in enumerate(own)
    ]
    if number_weight > 0:
        asked += [AskedTerm(term, number_weight) for term in dict.fromkeys(date_terms(times))]
    lent = dict.fromkeys(term for option in of_options for term in option.terms)
    asked += [AskedTerm(term, option_weight) for term in lent if term not in question.terms and option_weight > 0]
    return tuple(asked[:MOST_TERMS])


def _keys(question: Analysis, term: str) -> tuple[tuple[str, int], ...]:
    """The words of `term`, whole and less one letter (two where they are long), after SymSpell (Garbe 2012).

    A character pair has none: another pair means something else. A lone character stands for the pairs it is in.
    """
    words = [word for word, its_term in question.words.items() if its_term == term and len(word) != 2]
    keys = {(word, 0) for word in words}
    for word in words:
        for lacking in range(1, 1 + (len(word) > 1) + (len(word) >= TWICE_MISSPELT)):
            keys |= {(_without(word, gaps), lacking) for gaps in combinations(range(len(word)), lacking)}
    return tuple(sorted(keys))


def _without(word: str, gaps: tuple[int, ...]) -> str:
    return "".join(char for place, char in enumerate(word) if place not in gaps)
