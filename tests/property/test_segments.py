"""What holds for any text and any vectors."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.embedding.segments import MAX_PIECE_BYTES, blend, split, unit_rows

texts = st.builds(lambda part, times, end: part * times + end, st.text(max_size=40), st.integers(0, 300), st.text())


@given(texts)
def test_segmentation_is_lossless(text: str) -> None:
    assert "".join(split(text)) == text


@given(texts)
def test_pieces_are_short_and_never_empty(text: str) -> None:
    assert all(0 < len(piece.encode()) <= MAX_PIECE_BYTES for piece in split(text))


@given(texts)
def test_pieces_are_not_needlessly_short(text: str) -> None:
    pieces = split(text)
    assert all(len(piece.encode()) >= MAX_PIECE_BYTES // 4 * 3 - 3 for piece in pieces[:-1])


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_blended_product_is_the_weighted_sum_of_similarities(seed: int, weight: float) -> None:
    query, recall, memory = unit_rows(np.random.default_rng(seed).standard_normal((3, 1024)))
    expected = (1 - weight) * float(query @ memory) + weight * float(recall @ memory)
    assert abs(float(blend(query, recall, weight) @ memory) - expected) < 1e-5
