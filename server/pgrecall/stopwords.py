"""Whether a query says anything to search for."""

from __future__ import annotations

import re
import unicodedata

_ENGLISH_WORDS = """
    a an the this that these those
    of in on at to from by with for into onto over under up down off out as
    and or but nor so if than then
    am is are was were be been being do does did done have has had having
    can could will would shall should may might must
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    not no there here just also too very
    i'm i've i'd i'll it's that's there's don't doesn't didn't isn't aren't wasn't weren't
"""
"""Articles, prepositions, conjunctions, auxiliaries, pronouns. Interrogatives are not among them: `when`
alone still asks something.
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_CHINESE = frozenset("的了吗嗎呢吧啊呀嘛着著过過得地是在有和与與及或我你您他她它们們这這那个個也都就还還很把被")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def has_words(query: str) -> bool:
    """False where `query` is blank, only punctuation, or only stop words. An emoji counts as a word."""
    words = _WORD.findall(query.casefold().replace("’", "'"))
    return any(map(_says_something, words)) or any(unicodedata.category(char) == "So" for char in query)


def _says_something(word: str) -> bool:
    """A run of Chinese says something if one of its characters does: it has no spaces to split at."""
    return word not in _ENGLISH and not all(char in _CHINESE for char in word)
