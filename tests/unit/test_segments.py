"""Pieces, pooling and blending, with an embedder whose vectors say what went in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pgrecall.deadline import Deadline
from pgrecall.embedding.segments import MAX_PIECE_BYTES, blend, embed_texts, split, unit_rows
from pgrecall.memory import DIMENSIONS, EmbeddingIdentity, Vectors


class FirstLetterEmbedder:
    """Axis 0 for pieces that begin with "a", axis 1 for all others; remembers its calls."""

    identity = EmbeddingIdentity("fake", "first-letter", 2, "", 1)

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    async def embed(self, pieces: Sequence[str], deadline: Deadline) -> Vectors:
        self.calls.append(list(pieces))
        return unit_rows(np.array([[piece[0] == "a", piece[0] != "a"] for piece in pieces], np.float32))

    async def close(self) -> None: ...


def test_short_text_is_one_piece() -> None:
    assert split("I ran today") == ["I ran today"]
    assert split("x" * MAX_PIECE_BYTES) == ["x" * MAX_PIECE_BYTES]


def test_empty_text_has_no_piece() -> None:
    assert split("") == []


def test_piece_ends_at_a_space_where_there_is_one() -> None:
    pieces = split("word " * 1000)
    assert all(piece.endswith("word ") for piece in pieces)


def test_space_far_from_the_end_is_no_reason_for_a_short_piece() -> None:
    assert len(split("a " + "x" * 3000)[0]) == MAX_PIECE_BYTES


@pytest.mark.parametrize("character", ["é", "日", "🦊"])
def test_character_is_never_cut_apart(character: str) -> None:
    for shift in range(4):
        text = "x" * shift + character * 2000
        pieces = split(text)
        assert "".join(pieces) == text
        assert max(len(piece.encode()) for piece in pieces) <= MAX_PIECE_BYTES


async def test_all_texts_go_to_the_embedder_in_one_call() -> None:
    embedder = FirstLetterEmbedder()
    rows = await embed_texts(embedder, ["ab", "b", "a" * 5000], Deadline(5))
    assert [len(call) for call in embedder.calls] == [5]
    assert rows.shape == (3, DIMENSIONS)
    assert rows.dtype == np.float32


async def test_pieces_are_pooled_by_their_bytes() -> None:
    # 2,048 bytes on axis 0, then 512 characters of 3 bytes, 1,536 bytes, on axis 1: 4 to 3.
    row = (await embed_texts(FirstLetterEmbedder(), ["a" * 2048 + "日" * 512], Deadline(5)))[0]
    assert row[:2] == pytest.approx([4 / 5, 3 / 5], abs=1e-6)
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)


async def test_blank_texts_are_rows_of_zeros_and_never_sent() -> None:
    embedder = FirstLetterEmbedder()
    rows = await embed_texts(embedder, ["", " \n" * 3000, "a"], Deadline(5))
    assert embedder.calls == [["a"]]
    assert rows[:, :2].tolist() == [[0, 0], [0, 0], [1, 0]]


async def test_no_text_makes_no_call() -> None:
    embedder = FirstLetterEmbedder()
    assert (await embed_texts(embedder, [], Deadline(5))).shape == (0, DIMENSIONS)
    assert embedder.calls == []


def test_rows_become_unit_length_and_full_width() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e30, 0.0]]))
    assert rows.shape == (3, DIMENSIONS)
    assert rows[:, :2] == pytest.approx(np.array([[0.6, 0.8], [0, 0], [1, 0]]))


def test_blend_at_the_ends_is_either_vector() -> None:
    query, recall = unit_rows(np.array([[3.0, 4.0], [1.0, 0.0]]))
    assert (blend(query, recall, 0.0) == query).all()
    assert (blend(query, recall, 1.0) == recall).all()
    assert blend(query, recall, 0.5).dtype == np.float32
