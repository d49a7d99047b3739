"""What is kept of a memory beside its text: its terms, and the dates it says in words. As parameters of the hot
statements, one row for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from psycopg.types.numeric import Int2

from pgrecall.lexical.analysis import VERSION, Analysis, analyse
from pgrecall.lexical.dates import date_terms
from pgrecall.rendering import estimate_tokens, line, spoken
from pgrecall.temporal.expressions import TimeExpression
from pgrecall.temporal.finding import find

MOST_SPELT = 1000
"""Words of one memory whose spellings are kept, some 8 rows each: a pasted book would bring a million."""
MOST_COUNTED = 2**15 - 1
"""Times that a term counts in one memory: BM25 grows no more long before."""


int2 = lru_cache(maxsize=1 << 10)(Int2)
"""A small number for a smallint[]: made anew each time, those of a search took 4% of it."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Of one memory."""

    analysis: Analysis
    dates: tuple[TimeExpression, ...]
    gloss_characters: int
    gloss_tokens: int


def derive(occurred_at: datetime | None, speaker: str | None, content: str) -> Derived:
    """`speaker` None: a fact. Dates are resolved by the clock that `occurred_at` bears."""
    said_on = None if occurred_at is None else occurred_at.date()
    dates = find(content, said_on)
    analysis = analyse(content if speaker is None else spoken(speaker, content))
    analysis.terms.update(date_terms(dates))
    if said_on is None or not dates:
        return Derived(analysis, dates, 0, 0)
    bare = line(occurred_at, speaker, content)
    read = line(occurred_at, speaker, content, dates)
    return Derived(analysis, dates, len(read) - len(bare), estimate_tokens(read) - estimate_tokens(bare))


def derived_parameters(memories: Sequence[Derived]) -> dict[str, Any]:
    """The rows of `terms`, `spellings` and `dates`; each names its memory by its place among them, from 0."""
    lengths = [one.analysis.length for one in memories]
    spelt = [dict(islice(one.analysis.words.items(), MOST_SPELT)) for one in memories]
    postings = [
        (place, term, int2(min(count, MOST_COUNTED)), lengths[place], words.get(term, unknown))
        for place, one in enumerate(memories)
        for words, unknown in [_words_of_terms(one.analysis, spelt[place])]
        for term, count in one.analysis.terms.items()
    ]
    words = sorted({pair for one in spelt for pair in one.items()})
    dates = [(place, said) for place, one in enumerate(memories) for said in one.dates]
    return {
        "terms_version": VERSION,
        "terms_length": sum(lengths),
        "term_places": [place for place, *_ in postings],
        "terms": [term for _, term, *_ in postings],
        "term_counts": [count for _, _, count, *_ in postings],
        "term_lengths": [length for *_, length, _ in postings],
        "term_words": [said for *_, said in postings],
        "words": [word for word, _ in words],
        "word_terms": [term for _, term in words],
        "date_memories": [place for place, _ in dates],
        "date_places": [said.start for _, said in dates],
        "date_surfaces": [said.surface for _, said in dates],
        "date_grains": [said.grain.value for _, said in dates],
        "first_days": [said.first for _, said in dates],
        "last_days": [said.last for _, said in dates],
        "date_rules": [said.rule for _, said in dates],
    }


def _words_of_terms(analysis: Analysis, spelt: dict[str, str]) -> tuple[dict[str, str | None], str | None]:
    """Of each term the words that have it, as the text of an array, None where it is the term itself; and what
    stands for a term that has none."""
    texts: dict[str, str | None] = {}
    several: defaultdict[str, list[str]] = defaultdict(list)
    for word, term in spelt.items():
        if term in texts:
            several[term].append(f',"{word}"')
        else:
            texts[term] = None if word == term else f'{{"{word}"}}'
    for term, others in several.items():
        first = texts[term] or f'{{"{term}"}}'
        texts[term] = first[:-1] + "".join(others) + "}"
    return texts, None if len(spelt) == len(analysis.words) else "{}"
