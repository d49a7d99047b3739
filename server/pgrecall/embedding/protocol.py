"""What every embedding backend promises; tests/integration/test_embedders.py holds each to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pgrecall.deadline import Deadline
from pgrecall.memory import EmbeddingIdentity, Vectors


class Embedder(Protocol):
    """Embeds pieces of text of at most 2,048 UTF-8 bytes."""

    @property
    def identity(self) -> EmbeddingIdentity: ...

    async def embed(self, pieces: Sequence[str], deadline: Deadline) -> Vectors:
        """Rows in the order of `pieces`, shape (len(pieces), DIMENSIONS), finite, length 1 (a piece
        that says nothing to the model may be a row of zeros).

        Raises EmbeddingUnavailable, DeadlineExceeded.
        """
        ...

    async def close(self) -> None: ...
