from __future__ import annotations

from typing import Any

import pytest

from pgrecall.contract import read_add
from pgrecall.contract.cleaning import clean, is_blank, single_line


def content_of(**message: Any) -> str:
    sent = {"request_id": "r", "user_id": "u", "session_id": "s", "messages": [message]}
    return "|".join(kept.content for kept in read_add(sent).messages)


URL = "data:image/png;base64,AAAA"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  as it is \n", "  as it is \n"),
        (None, ""),
        ([], ""),
        ([None, "", " "], ""),
        (7, "7"),
        (-0.5, "-0.5"),
        (False, "false"),
        (float("nan"), "NaN"),
        ({"mood": "glad", "n": [1]}, '{"mood": "glad", "n": [1]}'),
        ({}, "{}"),
        ({"type": "text", "text": "hi"}, "hi"),
        (["a", {"type": "text", "text": "b"}, {"type": "input_text", "text": "c"}], "a\nb\nc"),
        ([["a", "b"], 3], "a\nb\n3"),
        ([{"type": "text", "text": {"value": "hi"}}], "hi"),
        ([{"type": "refusal", "refusal": "I can't."}], "I can't."),
        ([{"type": "image_url", "image_url": {"url": URL}}], "[image]"),
        ([{"type": "image_url", "image_url": {"url": URL, "alt": "a\ncat"}}], "[image: a cat]"),
        ([{"type": "image_url", "image_url": URL, "alt": "a cat"}], "[image: a cat]"),
        ([{"type": "input_image", "image_url": URL, "alt_text": "a cat"}], "[image: a cat]"),
        ([{"type": "image", "source": {"type": "base64", "data": "AAAA"}}], "[image]"),
        ([{"type": "image", "alt": URL, "caption": "a cat"}], "[image: a cat]"),
        ([{"image_url": {"url": URL}}], "[image]"),
        ([{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}], "[audio]"),
        ([{"type": "audio", "transcript": "hello"}], "[audio: hello]"),
        ([{"type": "video_url", "video_url": {"url": URL}}], "[video]"),
        ([{"type": "file", "file": {"filename": "a.pdf", "file_data": URL}}], "[file: a.pdf]"),
        ([{"type": "document", "title": "a.pdf", "source": {"data": "AAAA"}}], "[file: a.pdf]"),
        ([{"type": "input_file", "file_id": "f"}], "[file]"),
        ([{"type": "tool_use", "name": "find", "input": {"q": "tea"}}], 'find({"q": "tea"})'),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "3 shops"}]}], "3 shops"),
        ({"kind": "picture", "data": URL}, '{"kind": "picture", "data": "[data]"}'),
    ],
)
def test_content_of_any_type_becomes_text(content: object, text: str) -> None:
    assert content_of(content=content) == text


CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"q": "tea"}'}}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "tool_calls": [CALL]}, 'find({"q": "tea"})'),
        ({"tool_calls": [CALL, CALL]}, 'find({"q": "tea"})\nfind({"q": "tea"})'),
        ({"tool_calls": CALL}, 'find({"q": "tea"})'),
        ({"tool_calls": [{"name": "find", "args": {"q": 1}}]}, 'find({"q": 1})'),
        ({"tool_calls": [{"function": {"name": "now"}}]}, "now()"),
        ({"tool_calls": [{"id": 1}, "x", None]}, '{"id": 1}\nx'),
        ({"function_call": {"name": "find", "arguments": "{}"}}, "find({})"),
        ({"content": "Let me look.", "tool_calls": [CALL]}, 'Let me look.\nfind({"q": "tea"})'),
        ({"content": "Done.", "tool_calls": []}, "Done."),
        ({"content": None, "tool_calls": None}, ""),
    ],
)
def test_calls_become_text(message: dict[str, Any], text: str) -> None:
    assert content_of(**message) == text


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a\x00b\x01\x7f\x9fc", "abc"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("page\fpage\x0bline\x85line", "page\npage\nline\nline"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d😀", "\ufffd😀"),
        ("👩\u200d🔬 \u202eabc\u202c", "👩\u200d🔬 \u202eabc\u202c"),
        ("e\u0301 é", "e\u0301 é"),
    ],
)
def test_text_is_cleaned_and_otherwise_verbatim(sent: str, kept: str) -> None:
    assert clean(sent) == kept


def test_single_line_has_no_breaks() -> None:
    assert single_line(" Ann \r\n\t Lee\x00 ") == "Ann Lee"


def test_blank_is_what_no_reader_sees() -> None:
    assert is_blank("")
    assert is_blank(" \n\u200b\ufeff\u3000")
    assert not is_blank(".")
