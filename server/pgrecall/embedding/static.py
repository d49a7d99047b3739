"""Embeddings without key or network: the token table that the wordllama wheel carries.

A text is the mean of its tokens' rows. wordllama itself is never imported: its import sets up logging for
the whole process, and its loader goes to the network.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load
from tokenizers import Tokenizer

from pgrecall.deadline import Deadline
from pgrecall.embedding.segments import PREPROCESSING, unit_rows
from pgrecall.errors import StartRefused
from pgrecall.memory import EmbeddingIdentity, Vectors

MODEL = "wordllama-l2_supercat-256"
WIDTH = 256

WEIGHTS = (
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
VOCABULARY = (
    "tokenizers/l2_supercat_tokenizer_config.json",
    "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
)
"""A file of the wheel, wordllama 0.2.2.post0, and its SHA-256."""

SLICE = 512
"""Pieces between two looks at the deadline: about 0.1 s of short texts, and 1 MB of long ones."""

SMALL = 512
"""Characters of a lone piece, a question, that is embedded at once, in 0.1 ms: a thread and back cost more."""


class StaticEmbedder:
    """Over 4,000 short texts a second on two cores; knows little Chinese.

    `folder` holds the model's files; by default the installed wordllama package. Raises StartRefused if
    a file is missing or is not the one the stored vectors were made with.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or _package_folder()
        table = load(_checked(folder, *WEIGHTS))["embedding.weight"]
        self._table: NDArray[np.float32] = table.astype(np.float32)
        self._tokenizer = Tokenizer.from_str(_checked(folder, *VOCABULARY).decode())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @property
    def identity(self) -> EmbeddingIdentity:
        return EmbeddingIdentity("static", MODEL, WIDTH, "", PREPROCESSING)

    async def embed(self, pieces: Sequence[str], deadline: Deadline) -> Vectors:
        parts = [unit_rows(np.zeros((0, WIDTH), np.float32))]
        for start in range(0, len(pieces), SLICE):
            deadline.clip(0)
            own = pieces[start : start + SLICE]
            small = len(own) == 1 and len(own[0]) <= SMALL
            parts.append(self._embed(own) if small else await asyncio.to_thread(self._embed, own))
        return np.concatenate(parts)

    async def close(self) -> None:
        """Nothing is open."""

    def _embed(self, pieces: Sequence[str]) -> Vectors:
        means = np.zeros((len(pieces), WIDTH), np.float32)
        encodings = self._tokenizer.encode_batch_fast(list(pieces), add_special_tokens=False)
        for row, encoding in enumerate(encodings):
            if encoding.ids:
                # One text at a time: a text's bits must not depend on those embedded beside it.
                means[row] = self._table[encoding.ids].sum(axis=0) / np.float32(len(encoding.ids))
        return unit_rows(means)


def _package_folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise StartRefused("The static embedder's files are missing.", "pip install wordllama==0.2.2.post0")
    return Path(spec.origin).parent


def _checked(folder: Path, name: str, sha256: str) -> bytes:
    """The file's bytes, if they are the ones expected."""
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise StartRefused(
            f"The static embedder's file {name} cannot be read.",
            "pip install --force-reinstall wordllama==0.2.2.post0",
        ) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StartRefused(
            f"The static embedder's file {name} is not the one this server's vectors are made with.",
            "pip install --force-reinstall wordllama==0.2.2.post0",
        )
    return data
