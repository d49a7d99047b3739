from __future__ import annotations

import pytest

from pgrecall.contract import read_add
from pgrecall.contract.speakers import label_of, speaker_of


@pytest.mark.parametrize(
    ("content", "label"),
    [
        ("Caroline: Hi!", "Caroline"),
        ("  Caroline: Hi!", "Caroline"),
        ("Caroline:\nHi!", "Caroline"),
        ("Dr. Mary-Ann O'Neill: Hi", "Dr. Mary-Ann O'Neill"),
        ("Ludwig van Beethoven: Hi", "Ludwig van Beethoven"),
        ("Émile : Salut", "Émile"),
        ("User 2: Hi", "User 2"),
        ("Ann：Hi", "Ann"),
        ("小明：你好", "小明"),
        ("小明: 你好", "小明"),
        ("约翰·史密斯：你好", "约翰·史密斯"),
        ("محمد: مرحبا", "محمد"),
        ("राधा: नमस्ते", "राधा"),
        ("J: Hi", "J"),
    ],
)
def test_label_at_the_head_is_the_speaker(content: str, label: str) -> None:
    assert label_of(content) == label


@pytest.mark.parametrize(
    "content",
    [
        "",
        ":",
        ": hi",
        "hi",
        "caroline: hi",
        "12:30 is fine",
        "Meet at 12:30",
        "http://example.org",
        "Https: //example.org",
        "Caroline:hi",
        "Caroline:",
        "Note: buy milk",
        "NOTE: buy milk",
        "P.S.: hi",
        "TODO List: milk",
        "Step 2: stir",
        "Option B: tea",
        "Re: hello",
        "Q: why?",
        "I went to: the shop",
        "Things I like: tea",
        "What a long sentence this is: yes",
        "Abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst: hi",
        "Ann (mum): hi",
        "Ann\nLee: hi",
        "Monday: gym",
        "Dear Ann: hi",
        "备注：买牛奶",
        "第一步：打开",
        "问：几点？",
        "我今天买了：牛奶",
        "今天下午三点半的会议：改期",
        "{'a': 1}",
        "🎉 Party: yes",
    ],
)
def test_what_names_no_speaker_is_no_label(content: str) -> None:
    assert label_of(content) is None


@pytest.mark.parametrize(
    ("role", "name", "content", "speaker"),
    [
        ("user", None, "hi", "I"),
        ("User", None, "hi", "I"),
        ("assistant", None, "hi", "assistant"),
        ("tool", None, "hi", "tool"),
        ("user", "Ann", "hi", "Ann"),
        ("assistant", " Ann\nLee ", "hi", "Ann Lee"),
        ("user", " \u200b", "hi", "I"),
        ("user", 7, "hi", "I"),
        ("user", {"first": "Ann"}, "hi", "I"),
        ("user", "Ann", "Caroline: hi", "Caroline"),
        ("assistant", None, "Note: hi", "assistant"),
    ],
)
def test_speaker_is_the_label_else_the_name_else_the_role(
    role: str, name: object, content: str, speaker: str
) -> None:
    assert speaker_of(role, name, content) == speaker


def test_content_keeps_its_label() -> None:
    sent = {"request_id": "r", "user_id": "u", "session_id": "s", "messages": ["Caroline: Hi!"]}
    (message,) = read_add(sent).messages
    assert (message.speaker, message.content) == ("Caroline", "Caroline: Hi!")
