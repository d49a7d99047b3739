"""Embeddings from any OpenAI-compatible endpoint; text-embedding-v4 is the reference."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pgrecall.deadline import Deadline
from pgrecall.embedding.segments import PREPROCESSING, unit_rows
from pgrecall.errors import DeadlineExceeded, EmbeddingUnavailable
from pgrecall.memory import DIMENSIONS, EmbeddingIdentity, Vectors
from pgrecall.providers import Provider, ProviderFailure
from pgrecall.tally import ProviderTally

MODEL = "text-embedding-v4"
BASE_URL = "https://api.openai.com/v1"
"""Named here, so that OPENAI_BASE_URL, which is the language model's, never moves the embedder."""


class OpenAIEmbedder:
    """Batches of `batch` texts, at most `concurrency` calls at once over all callers.

    Every reply is checked before it is believed: count, indices, dimension, finiteness, no row of zeros.
    `dimensions` (at most 1024) is asked for unless `send_dimensions` is off, and expected either way.
    Raises StartRefused without `api_key`, unless `base_url` is given.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        model: str = MODEL,
        dimensions: int = DIMENSIONS,
        send_dimensions: bool = True,
        timeout: float = 20.0,
        retries: int = 1,
        concurrency: int = 4,
        batch: int = 10,
        tally: ProviderTally | None = None,
    ) -> None:
        self._provider = Provider(
            api_key=api_key,
            base_url=base_url or (BASE_URL if api_key else None),
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
            names=("PGRECALL_EMBED_API_KEY", "PGRECALL_EMBED_BASE_URL"),
        )
        self._model = model
        self._dimensions = dimensions
        self._send_dimensions = send_dimensions
        self._concurrency = concurrency
        self._batch = batch
        self._tally = tally or ProviderTally()

    @property
    def identity(self) -> EmbeddingIdentity:
        return EmbeddingIdentity("openai", self._model, self._dimensions, self._provider.endpoint, PREPROCESSING)

    async def embed(self, pieces: Sequence[str], deadline: Deadline) -> Vectors:
        rows = np.zeros((len(pieces), DIMENSIONS), np.float32)
        starts = iter(range(0, len(pieces), self._batch))

        async def work(starts: Iterator[int]) -> None:
            for start in starts:
                batch = pieces[start : start + self._batch]
                rows[start : start + len(batch)] = await self._embed_batch(batch, deadline)

        # No more workers than calls at once, so that a search waits for a few calls of a large Add
        # and not for all of them.
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(work(starts))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return rows

    async def close(self) -> None:
        await self._provider.close()

    async def _embed_batch(self, batch: Sequence[str], deadline: Deadline) -> Vectors:
        # Asked for as plain floats: base64, the client's default, is unknown to many endpoints.
        body: dict[str, object] = {"model": self._model, "input": list(batch), "encoding_format": "float"}
        if self._send_dimensions:
            body["dimensions"] = self._dimensions
        try:
            reply = await self._provider.post("/embeddings", body, deadline)
            vectors = read_vectors(reply, len(batch), self._dimensions)
        except ProviderFailure as failure:
            self._tally.failure(failure.kind)
            raise EmbeddingUnavailable(f"the embedding provider failed: {failure.kind}") from None
        except DeadlineExceeded:
            self._tally.failure("deadline")
            raise
        self._tally.success()
        return unit_rows(vectors)


def read_vectors(reply: object, count: int, dimensions: int) -> NDArray[np.float64]:
    """The reply's rows in the order of their `index`, shape (count, dimensions), finite, none of zeros.

    Raises ProviderFailure saying what is wrong with it.
    """
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise ProviderFailure("malformed")
    if len(data) != count:
        raise ProviderFailure(f"{len(data)} vectors for {count} texts")
    by_index = {entry.get("index"): entry.get("embedding") for entry in data if type(entry.get("index")) is int}
    if sorted(by_index) != list(range(count)):
        raise ProviderFailure("indices that do not match the texts")
    vectors = [by_index[index] for index in range(count)]
    if not all(isinstance(vector, list) for vector in vectors):
        raise ProviderFailure("malformed")
    widths = {len(vector) for vector in vectors}
    if widths != {dimensions}:
        raise ProviderFailure(f"vectors of {max(widths)} dimensions, not {dimensions}")
    try:
        rows = np.array(vectors, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ProviderFailure("malformed") from None
    if not np.isfinite(rows).all():
        raise ProviderFailure("vectors with values that are no numbers")
    if not rows.any(axis=1).all():
        raise ProviderFailure("a vector of zeros")
    return rows
