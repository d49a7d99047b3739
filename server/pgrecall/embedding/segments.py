"""Texts of any length through an embedder that takes short pieces; vectors made alike and blended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pgrecall.deadline import Deadline
from pgrecall.embedding.protocol import Embedder
from pgrecall.memory import DIMENSIONS, Vector, Vectors

MAX_PIECE_BYTES = 2048
"""UTF-8 bytes of one piece."""

PREPROCESSING = 1
"""Version of the way from a message to its vector: rendering, segmentation, pooling. Part of the
embedding identity: raise it when any of them changes."""

_BREAKS = (b" ", b"\n", b"\t", b"\r")


def split(text: str) -> list[str]:
    """Pieces of at most MAX_PIECE_BYTES, none empty, whose concatenation is `text`.

    A piece ends after the last whitespace of its last quarter where there is one, else between two
    characters. The empty text has no pieces.
    """
    data = text.encode()
    pieces = []
    start = 0
    while len(data) - start > MAX_PIECE_BYTES:
        end = start + MAX_PIECE_BYTES
        while data[end] & 0xC0 == 0x80:  # 10xxxxxx continues a character
            end -= 1
        quarter = end - MAX_PIECE_BYTES // 4
        space = max(data.rfind(mark, quarter, end) for mark in _BREAKS)
        end = space + 1 if space >= 0 else end
        pieces.append(data[start:end].decode())
        start = end
    if start < len(data):
        pieces.append(data[start:].decode())
    return pieces


async def embed_texts(embedder: Embedder, texts: Sequence[str], deadline: Deadline) -> Vectors:
    """One row a text, shape (len(texts), DIMENSIONS), length 1: its pieces weighted by their bytes.

    All pieces of all texts go to the embedder in one call; blank ones do not go, since providers refuse
    them. A blank text is a row of zeros. Raises EmbeddingUnavailable, DeadlineExceeded.
    """
    pieces = [[piece for piece in split(text) if not piece.isspace()] for text in texts]
    flat = [piece for own in pieces for piece in own]
    pooled = np.zeros((len(texts), DIMENSIONS), np.float32)
    if not flat:
        return pooled
    embedded = await embedder.embed(flat, deadline)
    start = 0
    for row, own in enumerate(pieces):
        rows = embedded[start : start + len(own)]
        start += len(own)
        if len(own) == 1:
            pooled[row] = rows[0]  # already of length 1: its very bits
        elif own:
            weights = np.array([len(piece.encode()) for piece in own], np.float32)
            pooled[row] = unit_rows((weights[:, None] * rows).sum(axis=0, keepdims=True))[0]
    return pooled


def unit_rows(rows: NDArray[np.floating]) -> Vectors:
    """Rows scaled to length 1 and padded with zeros to DIMENSIONS; a row of zeros stays one.

    Each row by itself: its bits do not depend on the rows beside it.
    """
    exact = rows.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    unit = np.zeros((len(rows), DIMENSIONS), np.float32)
    unit[:, : rows.shape[1]] = exact / np.where(lengths > 0, lengths, 1.0)
    return unit


def blend(query: Vector, recall: Vector, weight: float) -> Vector:
    """(1 - weight) query + weight recall, in float32 and not scaled to length 1.

    Its inner product with a memory is then exactly the weighted sum of the two similarities
    (HyDE, Gao et al. 2022, averages likewise), and one scan serves both.
    """
    return np.float32(1.0 - weight) * query + np.float32(weight) * recall
