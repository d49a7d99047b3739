"""The line a reader sees, and what is counted and compared of it. Pure."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from pgrecall.temporal.annotating import annotated
from pgrecall.temporal.expressions import TimeExpression

TOKENS_A_MEMORY = 20
"""What a reader's prompt adds around each line: number, brackets, line breaks."""

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
"""Han with its extensions, kana, hangul, bopomofo, their punctuation and full-width forms."""


def line(
    occurred_at: datetime | None, speaker: str | None, content: str, dates: Sequence[TimeExpression] = ()
) -> str:
    """`[2023-05-20 14:00] I: text`, by its speaker's clock; without brackets where undated, without speaker for a
    fact; with what its words mean of `dates` beside them.

    Content that begins with its speaker's label keeps that one.
    """
    if dates and occurred_at is not None:
        content = annotated(content, dates, occurred_at.date())
    said = content if not speaker or _is_labelled(content, speaker) else f"{speaker}: {content}"
    return said if occurred_at is None else f"[{_minute(occurred_at)}] {said}"


def spoken(speaker: str, content: str) -> str:
    """`content` without its speaker's label: what stands in every message tells none apart."""
    return content.lstrip()[len(speaker) :].lstrip(" ").lstrip(":：") if _is_labelled(content, speaker) else content


def _is_labelled(content: str, speaker: str) -> bool:
    head = content.lstrip()
    return head.startswith(speaker) and head[len(speaker) :].lstrip(" ").startswith((":", "："))


def _minute(moment: datetime) -> str:
    # Not strftime: on Linux its %Y writes the year 800 with three digits.
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


def created_at(occurred_at: datetime | None) -> str | None:
    """`2023-05-20T14:00:00Z`; with milliseconds where there are any."""
    if occurred_at is None:
        return None
    moment = occurred_at.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds") + "Z"


def fold(rendered: str) -> str:
    """`rendered` with case and white space folded: lines that fold alike repeat each other."""
    return " ".join(rendered.casefold().split())


def line_key(rendered: str) -> bytes:
    """The first 16 bytes of SHA-256 of the folded line."""
    return hashlib.sha256(fold(rendered).encode("utf-8", "surrogatepass")).digest()[:16]


def estimate_tokens(rendered: str) -> int:
    """Tokens of one returned memory, estimated from above: one for each CJK character, one for 3 other
    UTF-8 bytes, and 20 for the memory.
    """
    others = _CJK.sub("", rendered)
    other_bytes = len(others.encode("utf-8", "surrogatepass"))
    return len(rendered) - len(others) + math.ceil(other_bytes / 3) + TOKENS_A_MEMORY


def fitting(lines: Sequence[str], beside: Sequence[str], characters: int, tokens: int | None) -> int:
    """How many of `lines`, from the first on, fit into the budgets of an answer that holds `beside` already."""
    characters -= sum(map(len, beside))
    left = math.inf if tokens is None else tokens - sum(map(estimate_tokens, beside))
    for place, text in enumerate(lines):
        characters -= len(text)
        left -= estimate_tokens(text)
        if characters < 0 or left < 0:
            return place
    return len(lines)
