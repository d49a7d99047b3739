"""The guard never takes a quotation for an invention."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.language.verbatim import holds

lines = st.lists(st.text(min_size=1), min_size=1, max_size=4)
words = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Z", "Cc"]), min_size=1), min_size=1)


@given(lines, st.data())
def test_substring_of_the_lines_always_passes(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert holds(lines, text[start:end])


@given(words)
def test_words_of_the_lines_pass_in_any_order(words: list[str]) -> None:
    shuffled = sorted(words)[::-1]
    assert holds([" ".join(words)], "I " + " ".join(shuffled))


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_number_passes_only_if_it_is_there(said: int, claimed: int) -> None:
    assert holds([f"I: I paid {said} for it"], f"I spent {claimed:,} on it") == (said == claimed)
