"""What a question wants of time: the newest, the oldest, what came before or after. Told by its own words.

It is reported, and orders memories that tie. It sorts nothing else: newest-first as a rule has cost accuracy.
"""

from __future__ import annotations

import enum
import unicodedata

import regex


class Intent(enum.StrEnum):
    """What of time a question asks for."""

    LATEST = "latest"
    EARLIEST = "earliest"
    BEFORE = "before"
    AFTER = "after"


_SIGNS = {
    Intent.LATEST: (
        r"\b(?:latest|newest|current(?:ly)?|right now|now(?:adays)?|these days|at the moment|at present|presently"
        r"|(?:most )?recent(?:ly)?|last(?! name)|so far|up to date)\b",
        "现在|目前|如今|眼下|最近(?!的)|最新|上次|刚刚|当前|至今|最后一次|現在|當前",
    ),
    Intent.EARLIEST: (
        r"\b(?:first(?! name| aid| class|-class)|earliest|originally|initially|oldest|at first|in the beginning)\b",
        "第一次|最早|最初|起初|一开始|首次|原先|一開始",
    ),
    Intent.BEFORE: (
        r"\b(?:before|prior to|earlier than|previous(?:ly)?|earlier|used to|until|former(?:ly)?)\b",
        "之前|以前|从前|先前|從前",
    ),
    Intent.AFTER: (
        r"\b(?:after(?:wards?)?|later|subsequently)\b",
        "之后|以后|后来|之後|以後|後來",
    ),
}
_PATTERNS = {
    intent: regex.compile(f"{english}|{chinese}", regex.IGNORECASE) for intent, (english, chinese) in _SIGNS.items()
}


def intent_of(query: str) -> Intent | None:
    """The intent of a question in English or Chinese; where it shows several, that of the earliest word."""
    text = unicodedata.normalize("NFKC", query)
    found = [(match.start(), intent) for intent, pattern in _PATTERNS.items() if (match := pattern.search(text))]
    return min(found, key=lambda place: place[0])[1] if found else None
