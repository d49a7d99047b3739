"""Ids as keys: what is plain stays as it is, and no two ids ever share a key."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.ids import HASHED, MAX_BYTES, stored_id

anything = st.characters(exclude_categories=())
odd = st.sampled_from(["\0", "\ud800", "\udfff", HASHED, "é", "𝄞", "x" * (MAX_BYTES - 1)])
ids = st.lists(st.text(anything, max_size=8) | odd, min_size=1, max_size=4).map("".join)
plain = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=MAX_BYTES // 4)


@given(plain)
def test_plain_id_is_its_own_key(sent: str) -> None:
    assert sent.startswith(HASHED) or stored_id(sent) == (sent, None)


@given(ids)
def test_key_is_text_that_postgres_can_hold_and_index(sent: str) -> None:
    key, _ = stored_id(sent)
    assert "\0" not in key
    assert len(key.encode()) <= MAX_BYTES


@given(ids)
def test_id_can_always_be_read_back(sent: str) -> None:
    key, original = stored_id(sent)
    assert (key if original is None else original.decode("utf-8", "surrogatepass")) == sent


@given(ids, ids)
def test_different_ids_never_share_a_key(one: str, other: str) -> None:
    assert (stored_id(one)[0] == stored_id(other)[0]) == (one == other)


@given(ids)
def test_the_key_of_one_id_sent_as_an_id_gets_another_key(sent: str) -> None:
    key, original = stored_id(sent)
    assert original is None or stored_id(key)[0] != key


@pytest.mark.parametrize("character", ["x", "é", "漢", "𝄞"])
def test_512_bytes_are_kept_and_513_hashed(character: str) -> None:
    filled = character * (MAX_BYTES // len(character.encode()))
    longest = filled + "x" * (MAX_BYTES - len(filled.encode()))
    assert stored_id(longest) == (longest, None)
    sent = longest + "x"
    assert stored_id(sent) == (HASHED + hashlib.sha256(sent.encode()).hexdigest(), sent.encode())


@pytest.mark.parametrize("sent", ["\0", "a\0b", "\ud800", "a\udfffb", "\ud83d\ude00", HASHED, HASHED + "0" * 64])
def test_what_text_cannot_hold_or_looks_like_a_hash_is_hashed(sent: str) -> None:
    key, original = stored_id(sent)
    assert key.startswith(HASHED)
    assert original == sent.encode("utf-8", "surrogatepass")


def test_surrogates_are_not_the_character_they_would_make() -> None:
    assert stored_id("\ud83d\ude00") != stored_id("😀")
