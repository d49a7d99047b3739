"""Stronger local models through the `fastembed` extra (ONNX; the model is fetched at the first start)."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pgrecall.deadline import Deadline
from pgrecall.embedding.segments import PREPROCESSING, unit_rows
from pgrecall.errors import EmbeddingUnavailable, StartRefused
from pgrecall.memory import DIMENSIONS, EmbeddingIdentity, Vectors
from pgrecall.tally import ProviderTally

MODEL = "BAAI/bge-small-en-v1.5"

SLICE = 64
"""Pieces between two looks at the deadline."""


class TextModel(Protocol):
    """What is used of fastembed.TextEmbedding."""

    def embed(self, documents: list[str]) -> Iterable[NDArray[np.float32]]: ...


class FastEmbed(Protocol):
    """What is used of the module fastembed."""

    def TextEmbedding(self, model_name: str) -> TextModel: ...  # noqa: N802  fastembed's own name


class FastEmbedEmbedder:
    """Runs `model` in a thread. `module` is fastembed itself unless given.

    Raises StartRefused if the extra is not installed, the model cannot be loaded, or its vectors are
    wider than the column.
    """

    def __init__(
        self, model: str = MODEL, *, module: FastEmbed | None = None, tally: ProviderTally | None = None
    ) -> None:
        module = module or _installed()
        try:
            self._model = module.TextEmbedding(model)
            self._width = len(next(iter(self._model.embed(["width"]))))
        except Exception as error:  # whatever the download or the ONNX runtime raises
            raise StartRefused(
                f"fastembed cannot load {model}.",
                "Set PGRECALL_EMBED_MODEL to a model that fastembed lists; it is fetched once.",
            ) from error
        if self._width > DIMENSIONS:
            raise StartRefused(
                f"{model} has {self._width} dimensions; the column holds {DIMENSIONS}.",
                f"Set PGRECALL_EMBED_MODEL to a model of at most {DIMENSIONS} dimensions.",
            )
        self._name = model
        self._tally = tally or ProviderTally()

    @property
    def identity(self) -> EmbeddingIdentity:
        return EmbeddingIdentity("fastembed", self._name, self._width, "", PREPROCESSING)

    async def embed(self, pieces: Sequence[str], deadline: Deadline) -> Vectors:
        parts = [np.zeros((0, DIMENSIONS), np.float32)]
        for start in range(0, len(pieces), SLICE):
            deadline.clip(0)
            parts.append(await asyncio.to_thread(self._embed, list(pieces[start : start + SLICE])))
        return np.concatenate(parts)

    async def close(self) -> None:
        """Nothing is open."""

    def _embed(self, pieces: list[str]) -> Vectors:
        try:
            rows = np.array(list(self._model.embed(pieces)), np.float32)
        except (RuntimeError, ValueError) as error:
            self._tally.failure(type(error).__name__)
            raise EmbeddingUnavailable("the local embedding model failed") from None
        if rows.shape != (len(pieces), self._width) or not np.isfinite(rows).all():
            self._tally.failure("malformed")
            raise EmbeddingUnavailable("the local embedding model returned vectors that cannot be used")
        self._tally.success()
        return unit_rows(rows)


def _installed() -> FastEmbed:
    try:
        return cast("FastEmbed", importlib.import_module("fastembed"))
    except ImportError as error:
        raise StartRefused("fastembed is not installed.", "pip install 'pgrecall[fastembed]'") from error
