"""Small random logs: few texts, dates, sessions and directions, so that ties, repeats and windows abound."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import numpy as np
from hypothesis import strategies as st

from pgrecall.memory import DIMENSIONS, Addition, Extraction, Fact, Message, Vector

DATES = [
    None,
    datetime(2023, 5, 20, 14, 0, tzinfo=UTC),
    datetime(2023, 5, 20, 14, 0, 30, tzinfo=UTC),  # the minute that a reader sees is the same
    datetime(2023, 5, 21, 9, 0, tzinfo=UTC),
    datetime(1968, 7, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
]
TEXTS = [
    "I ran today",
    "i RAN \t today",
    "I: I ran today",
    "I ran on 20 May 2023",
    "I swam last week",
    "我昨天跑步了",
    "The flat has a blue door " * 5,
    "no",
]
QUERIES = [
    "ran",
    "today",
    "rann",
    "tody",
    "blue",
    "door",
    "昨天",
    "我",
    "跑",
    "flta",
    "35",
    "swam",
    "door blue flat",
]
"""Known, misspelt, unknown, of one character."""


def widened(numbers: list[int]) -> Vector:
    """Small whole numbers in a few of the 1024 dimensions: SQL and Python compute the same inner product."""
    vector: Vector = np.zeros(DIMENSIONS, np.float32)
    vector[[0, 1, DIMENSIONS - 1]] = numbers
    return vector


vectors = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(widened)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    speaker=st.sampled_from(["I", "Caroline"]),
    content=st.sampled_from(TEXTS),
    occurred_at=st.sampled_from(DATES),
    dated=st.booleans(),
)


@st.composite
def additions(draw: st.DrawFn, user_id: str, request_id: str, least: int = 0, most: int = 7) -> Addition:
    """One Add of messages and up to 4 facts. An Add of blank messages stores none, and is a request."""
    said = draw(st.lists(messages, min_size=least, max_size=most))
    places = st.sets(st.integers(0, max(0, len(said) - 1)), min_size=1, max_size=3)
    sources = draw(st.lists(places, max_size=4 if said else 0))
    facts = tuple(Fact(draw(st.sampled_from(TEXTS)), tuple(sorted(source))) for source in sources)
    drawn = draw(st.lists(vectors, min_size=len(said) + len(facts), max_size=len(said) + len(facts)))
    stacked = np.array(drawn, np.float32).reshape(-1, DIMENSIONS)
    failed = draw(st.booleans()) and not facts
    return Addition(
        user_id=user_id,
        request_id=request_id,
        session_id=draw(st.sampled_from(["morning", "evening"])),
        body_digest=draw(st.binary(min_size=32, max_size=32)),
        messages=tuple(said),
        message_vectors=stacked[: len(said)],
        facts=facts,
        fact_vectors=stacked[len(said) :],
        extraction=Extraction.FAILED if failed else Extraction.DONE,
        extraction_reason="timeout" if failed else None,
        prompt_version=1,
        language_model="stand-in",
    )


@st.composite
def logs(draw: st.DrawFn, user_id: str, most: int = 4) -> list[Addition]:
    """Adds of one user, in order of arrival."""
    return [draw(additions(user_id, f"request-{place}")) for place in range(draw(st.integers(1, most)))]


def spoken(user_id: str, request_id: str, text: str) -> Addition:
    """One message that no vector tells from another."""
    said = (Message("user", "I", text, None),)
    nothing = np.zeros((0, DIMENSIONS), np.float32)
    return Addition(
        user_id, request_id, "s", hashlib.sha256(text.encode()).digest(), said, widened([1, 0, 0])[None],
        (), nothing, Extraction.OFF, None, 1, "",
    )  # fmt: skip
