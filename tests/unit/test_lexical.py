"""The analysis of texts and questions: what is found by which word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.lexical.analysis import LONGEST_TERM, analyse
from pgrecall.lexical.question import MOST_TERMS, asked_terms
from pgrecall.memory import AskedTerm


def terms(text: str) -> set[str]:
    return set(analyse(text).terms)


def asked(query: str, *options: str) -> list[AskedTerm]:
    return list(asked_terms(query, options, number_weight=1.5, option_weight=0.2))


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I bought a 35mm lens", "35 mm"), ("a 35 mm lens", "35mm"), ("it cost $1,200", "$1200"),
        ("it cost $1,200", "1200 dollars"), ("on 2023-05-07", "2023-05-07"), ("on 2023-05-07", "5/7/2023"),
        ("we run v2.1 now", "v2.1"), ("we run v2.1 now", "version 2.1"), ("at 14:30", "14:30"),
        ("order ORD-48213-B", "48213"), ("order ORD-48213-B", "ord-48213-b"), ("call getUserName", "user name"),
        ("parse_header fails", "parse header"), ("write to jo.doe@example.org", "jo.doe@example.org"),
        ("write to jo.doe@example.org", "doe"), ("see https://example.org/a/b?x=1", "https://example.org/a/b?x=1"),
        ("Room B2.14", "b2.14"), ("the iPhone15", "iphone"), ("Malmö", "Malmo"), ("Wrocław", "wroclaw"),
        ("Siobhán’s dog", "siobhan"), ("straße", "STRASSE"), ("ｆｕｌｌ width １２", "full 12"), ("running", "run"),
        ("东京塔", "京塔"), ("我养猫", "养猫"), ("한국어를", "한국어"), ("東京タワー", "タワー"),
        ("Ἀθῆναι", "αθηναι"), ("ёлка", "ЁЛКА"), ("C++ and Go", "c++"), ("😀", "😀"), ("สวัสดี", "สวัส"),
    ],
)  # fmt: skip
def test_what_was_said_is_found_by_its_parts_and_other_spellings(said: str, wanted: str) -> None:
    assert terms(said) & {one.term for one in asked(wanted)}


@pytest.mark.parametrize(
    ("one", "other"), [("schön", "scheen"), ("й", "и"), ("が", "か"), ("48213", "48231"), ("$1,200", "$1,201")]
)
def test_what_differs_in_more_than_a_mark_stays_apart(one: str, other: str) -> None:
    assert not terms(one) & terms(other)


def test_english_stop_words_and_words_that_only_ask_are_no_terms() -> None:
    assert terms("the of and I was") == set()
    assert [one.term for one in asked("When did the dog run?")] == ["dog", "run"]
    assert [one.term for one in asked("我的护照什么时候过期？")] == ["护照", "过期"]


def test_a_term_counts_as_often_as_it_stands_there() -> None:
    analysis = analyse("run, running, runs and a dog")
    assert analysis.terms == {"run": 3, "dog": 1}
    assert analysis.length == 4


def test_a_lone_character_is_a_term_and_a_run_is_its_pairs() -> None:
    assert terms("猫") == {"猫"}
    assert terms("三花猫") == {"三花", "花猫"}


def test_numbers_weigh_more_options_less_and_nothing_twice() -> None:
    weighed = {one.term: one.weight for one in asked("did I pay 1200 for the lens", "a lens", "35 tripods")}
    assert weighed == {"pay": 1.0, "1200": 1.5, "len": 1.0, "35": 0.2, "tripod": 0.2}


def test_only_the_question_itself_is_read_for_misspellings() -> None:
    first, second = asked("recieve", "restaraunt")
    assert {("recieve", 0), ("receve", 1)} <= set(first.keys)
    assert second.keys == ()
    assert asked("dog")[0].keys == () or all(len(key) > 3 for key, _ in asked("dog")[0].keys)


def test_a_question_as_long_as_a_book_is_bounded() -> None:
    assert len(asked(" ".join(f"word{number}" for number in range(5000)))) == MOST_TERMS


@given(st.text())
def test_any_text_has_terms_that_postgres_can_key(text: str) -> None:
    analysis = analyse(text)
    for term in [*analysis.terms, *analysis.words, *analysis.words.values()]:
        assert 0 < len(term.encode("utf-8", "surrogatepass")) <= max(LONGEST_TERM, 4 * 32)
        assert "\0" not in term
    assert set(analysis.words.values()) <= set(analysis.terms)
