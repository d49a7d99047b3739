"""Calls of providers for many requests at once, in three tries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np

from pgrecall.deadline import Deadline
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.segments import embed_texts
from pgrecall.errors import DeadlineExceeded, EmbeddingUnavailable, LanguageUnavailable
from pgrecall.memory import Vectors

TRIES = 3
PAUSE = 2.0
"""Seconds before the second try, doubled before the third."""
CALL_SECONDS = 600.0
"""For the embeddings of one chunk, or the facts of one request."""

Answer = TypeVar("Answer")


async def embedded(embedder: Embedder, texts: Sequence[Sequence[str]]) -> list[Vectors]:
    """The vectors of each sequence of texts; all in one call."""
    flat = [text for own in texts for text in own]
    vectors = await tried(lambda: embed_texts(embedder, flat, Deadline(CALL_SECONDS)))
    ends = np.cumsum([len(own) for own in texts], dtype=int)
    return np.split(vectors, ends[:-1]) if texts else []


async def tried(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """The answer of a provider, in three tries."""
    for attempt in range(TRIES - 1):
        try:
            return await call()
        except (EmbeddingUnavailable, LanguageUnavailable, DeadlineExceeded):
            await asyncio.sleep(PAUSE * 2.0**attempt)
    return await call()
