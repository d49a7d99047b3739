"""The quick way through an ASCII text finds what the thorough one finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.lexical import tokens

HEADS = st.sampled_from(["http://", "https://", "www.", "$", "c++", "a-b", "1,200.50", "it's", " "])


@given(st.lists(HEADS | st.text(st.characters(max_codepoint=127), max_size=4), max_size=12).map("".join))
def test_an_ascii_text_has_the_same_pieces_either_way(text: str) -> None:
    thorough = [match[0] for match in tokens._PIECE.finditer(text)]

    assert [piece for _, piece in tokens.pieces(text)] == thorough
