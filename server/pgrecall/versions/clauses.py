"""A message to the places where a statement of its writer's may begin. What is quoted, played, joked, asked,
wished or long past has none."""

from __future__ import annotations

from typing import Any

import regex

_END = r"(?<=[!?。！？；;\n…])\s*|(?<=\.)(?:\s+|$)"
_CLAUSE = {True: r"[,:;()—–]\s*|\s(?:and|but|so)\s|\s-\s", False: r"[，,：:、；;…—～~\s]+"}
_ANY_END = regex.compile(_END)
_ASKING = regex.compile(r"[?？]\s*$|(?:吗|呢|吧|么)[\s。！!]*$")
_END_MARKS = ".!?。！？；;\n… "
LONGEST_SENTENCE = 400
"""Characters; a longer one is no sentence, but a list or a paste."""


def telling(text: str) -> list[str]:
    """The sentences of `text`, and of its questions what comes before the last comma."""
    sentences = [sentence for sentence in _ANY_END.split(text) if sentence.strip()]
    return [_before_comma(sentence) if _ASKING.search(sentence) else sentence for sentence in sentences]


def _before_comma(question: str) -> str:
    place = max(question.rfind(","), question.rfind("，"))
    return question[: max(place, 0)]


class Clauses:
    """The sentences and clauses of one language, by its rules."""

    def __init__(self, rules: dict[str, Any]) -> None:
        self._spaced: bool = rules["spaced"]
        known = rules["abbreviations"]
        self._sentence = regex.compile(rf"(?<!\b{known}\.)(?:{_END})" if known else f"(?:{_END})")
        self._clause = regex.compile(_CLAUSE[self._spaced], regex.IGNORECASE)
        self._foreign = regex.compile(rules["foreign"], regex.IGNORECASE)
        self._hypothetical = regex.compile(rules["hypothetical"], regex.IGNORECASE)
        self._onward = regex.compile(rules["onward"], regex.IGNORECASE)
        self._tag = regex.compile(rules["tag"], regex.IGNORECASE)

    def is_own(self, text: str) -> bool:
        """Whether the writer speaks for themselves, and in earnest."""
        return self._foreign.search(text) is None

    def sentences(self, text: str) -> list[str]:
        return [sentence.strip() for sentence in self._sentence.split(text) if sentence.strip()]

    def starts(self, sentence: str) -> tuple[str, list[int]]:
        """What of `sentence` may be read, and each place where a statement may begin in it.

        Of a question its last clause asks; what comes before may tell: "I live in Cork, where do I get a bike?"
        """
        if len(sentence) > LONGEST_SENTENCE or self._hypothetical.search(sentence):
            return "", []
        readable = sentence.rstrip(_END_MARKS)
        if _ASKING.search(sentence):
            breaks = list(self._clause.finditer(readable))
            if not breaks or self._tag.fullmatch(readable, breaks[-1].end()):
                return "", []
            readable = readable[: breaks[-1].start()]
        onward = self._onward.search(readable)
        limit = onward.start() if onward else len(readable)
        return readable, [0, *(match.end() for match in self._clause.finditer(readable, 0, limit))]
