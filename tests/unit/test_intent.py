"""What a question wants of time."""

from __future__ import annotations

import pytest

from pgrecall.lexical.intent import intent_of


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("What is my latest phone number?", "latest"), ("Where do I currently live?", "latest"),
        ("我现在住在哪里？", "latest"),
        ("最近一次体检是什么时候", "latest"), ("What was my first job?", "earliest"),
        ("我第一次去东京是哪年", "earliest"), ("Where did I work before the bank?", "before"),
        ("搬家之前我住哪儿", "before"),
        ("What did I do after the wedding?", "after"), ("离职以后我做了什么", "after"),
        ("Before Ann left, what did I say after dinner?", "before"), ("What is my dog called?", None),
        ("knowledge of beforehand", None), ("", None),
    ],
)  # fmt: skip
def test_words_of_time_tell_what_is_wanted(query: str, intent: str | None) -> None:
    assert intent_of(query) == intent
