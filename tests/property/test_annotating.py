"""A text is recoverable from its annotated form, whatever it holds, and reading it raises nothing."""

from __future__ import annotations

import re
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.temporal.annotating import annotated, verbatim
from pgrecall.temporal.asking import asked
from pgrecall.temporal.finding import find

PIECES = [
    "yesterday", " [= 7 May 2023]", "[= ", "]", " ", "last week", "last Friday", "two weeks ago", "since ", "May",
    "7 ", "in ", "2023", "from 3 to 9 July", "on the 15th", "next ", "Friday", "'s", "\n", ". ", "I went ",
    "I will ", '"', "昨天", "上周三", " [= 2023年5月7日]", "去年夏天", "从", "起", "5号", "了", "要", "三天前",
    "，", "İ", "Monday to ", "29 February", "31", "9999", "1 ", "0", "a year ago", "in 999 years",
    "999 years ago", "the week of ", "Q4 ",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)
days = st.dates() | st.sampled_from([date.min, date.max, date(2024, 2, 29), date(2023, 12, 31)])


@given(texts, days)
def test_verbatim_text_is_recovered_from_every_annotated_text(text: str, said_on: date) -> None:
    found = find(text, said_on)
    assert verbatim(annotated(text, found, said_on), found, said_on) == text


@given(texts, days | st.none())
def test_what_is_found_stands_in_the_text_in_order_and_apart(text: str, said_on: date | None) -> None:
    for found in (find(text, said_on), asked(text, said_on)):
        ends = [0, *(one.end for one in found)]
        assert all(end <= one.start for end, one in zip(ends, found, strict=False))
        assert all(text[one.start : one.end] == one.surface and one.first <= one.last for one in found)


@given(texts)
def test_without_a_date_only_what_needs_none_is_found(text: str) -> None:
    assert {one.rule for one in find(text, None)} <= {"absolute"}


@given(texts, days, days)
def test_what_is_pasted_back_is_glossed_only_where_it_had_no_note(
    text: str, said_on: date, pasted_on: date
) -> None:
    once = annotated(text, find(text, said_on), said_on)
    found = find(once, pasted_on)
    twice = annotated(once, found, pasted_on)
    assert verbatim(twice, found, pasted_on) == once
    assert not re.search(r" \[= [^\[\]\n]{1,100}\] \[= ", twice) or re.search(r"\] ?\[= ", once)
