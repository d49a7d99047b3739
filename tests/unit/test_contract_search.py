from __future__ import annotations

import pytest

from pgrecall.contract import SearchRequest, read_search
from pgrecall.contract.search import LONGEST_OPTION, MOST_OPTIONS
from pgrecall.errors import InvalidRequest
from pgrecall.stopwords import has_words


def test_search_needs_only_a_user() -> None:
    call = read_search({"user_id": "u", "gold": "ignored"})
    assert (call.user_id, call.query, call.top_k, call.options) == ("u", "", 100, ())


@pytest.mark.parametrize("payload", [{}, {"user_id": None}, {"user_id": ""}, {"user_id": 5}])
def test_search_without_a_user_is_refused(payload: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_search(payload)
    assert refused.value.field == "user_id"


@pytest.mark.parametrize(
    ("sent", "top_k"),
    [
        (0, 0),
        (-3, 0),
        ("-3", 0),
        (-5.0, 0),
        (None, 100),
        ("20", 20),
        (" +20 ", 20),
        ("5.0", 5),
        (5.0, 5),
        (2.5, 100),
        ("2.5", 100),
        (True, 100),
        (False, 100),
        ("many", 100),
        ("", 100),
        ("true", 100),
        ([5], 100),
        ({}, 100),
        (float("nan"), 100),
        (float("inf"), 100),
        ("nan", 100),
        (10**30, 10**30),
        ("9" * 5000, 10**640),
        ("-" + "9" * 5000, 0),
    ],
)
def test_top_k_is_read_leniently(sent: object, top_k: int) -> None:
    assert read_search({"user_id": "u", "top_k": sent}).top_k == top_k


@pytest.mark.parametrize(
    ("sent", "query"),
    [
        (None, ""),
        (" \n\u200b", ""),
        ("Where?\x00", "Where?"),
        (42, "42"),
        ([{"type": "text", "text": "Where"}, "now?"], "Where\nnow?"),
        ({"text": "Where?"}, "Where?"),
        ({"a": 1}, '{"a": 1}'),
        ("\ud83d", "\ufffd"),
    ],
)
def test_query_is_read_like_content(sent: object, query: str) -> None:
    assert read_search({"user_id": "u", "query": sent}).query == query


@pytest.mark.parametrize(
    ("sent", "options"),
    [
        (None, ()),
        ("", ()),
        ("tea", ("tea",)),
        (["tea", None, 7, " ", True, "co\x00ffee"], ("tea", "7", "true", "coffee")),
        ([{"text": "tea"}, {"content": "milk"}, {"label": "A"}, {"k": 1}], ("tea", "milk", "A", '{"k": 1}')),
        ({"A": "tea", "B": "milk"}, ("tea", "milk")),
        (3, ("3",)),
        (["x" * 2000], ("x" * LONGEST_OPTION,)),
        (["x"] * 1000, ("x",) * MOST_OPTIONS),
    ],
)
def test_options_are_coerced_to_a_list(sent: object, options: tuple[str, ...]) -> None:
    assert read_search({"user_id": "u", "options": sent}).options == options


def test_openapi_example_is_understood() -> None:
    schema = SearchRequest.model_json_schema()
    assert "$defs" not in schema
    assert read_search(schema["examples"][0]).top_k == 20


@pytest.mark.parametrize(
    "query", ["", " \n", "?!…", "the of a", "It's, and I", "的", "吗呢", "我 的", "___", "I don’t"]
)
def test_query_of_stop_words_says_nothing(query: str) -> None:
    assert not has_words(query)


@pytest.mark.parametrize(
    "query", ["when", "Who is it?", "the dog", "狗", "我的狗", "什么", "7", "🎉", "où", "привет"]
)
def test_query_with_any_other_word_says_something(query: str) -> None:
    assert has_words(query)
