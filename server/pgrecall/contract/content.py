"""Content as it comes from chat APIs (text, parts, calls, anything) as the text that is kept.

The parts are those of OpenAI's chat completions and responses and of Anthropic's messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pgrecall.contract.cleaning import is_blank, single_line

_DATA_URL = re.compile(r"data:[\w.+/;=-]{1,200},[\w+/=%-]*", re.ASCII)
_MEDIA = ("image", "audio", "video", "file", "document")
_ALT = ("alt", "alt_text", "caption", "description", "transcript")
_FILE_NAME = ("filename", "file_name", "name", "title")


def text_of(value: object) -> str:
    """The text of content of any type, not yet cleaned; "" where there is none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _lines(text_of(part) for part in value)
    if isinstance(value, dict):
        return _part(value)
    return json_text(value)


def calls_text(value: object) -> str:
    """`tool_calls`, or one `function_call`, as lines `name(arguments)`."""
    if value is None:
        return ""
    return _lines(_call(call) for call in (value if isinstance(value, list) else [value]))


def json_text(value: object) -> str:
    """`value` as JSON in which data URLs are cut to `[data]`: bytes say nothing to a reader."""
    return _DATA_URL.sub("[data]", json.dumps(value, ensure_ascii=False))


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if not is_blank(text))


def _part(part: dict[object, object]) -> str:
    kind = part.get("type")
    if media := _media(kind, part):
        return _placeholder(media, part)
    for key in ("text", "refusal", "thinking"):
        text = part.get(key)
        if isinstance(text, dict):  # {"text": {"value": ...}}, OpenAI's assistants
            text = text.get("value")
        if isinstance(text, str):
            return text
    if kind in ("tool_use", "function_call"):
        return _call(part)
    if kind == "tool_result":
        return text_of(part.get("content"))
    return json_text(part)


def _media(kind: object, part: dict[object, object]) -> str | None:
    """The medium of "image", "image_url", "input_image"; by its keys where the part has no type."""
    for media in _MEDIA:
        if isinstance(kind, str) and media in kind.casefold().split("_"):
            return media
        if kind is None and (f"{media}_url" in part or f"input_{media}" in part):
            return media
    return None


def _placeholder(media: str, part: dict[object, object]) -> str:
    """`[image: alt]`, `[audio: transcript]`, `[file: name]`, or the bare word: never bytes or URLs."""
    keys = _FILE_NAME if media in ("file", "document") else _ALT
    media = "file" if media == "document" else media
    inner = [value for value in part.values() if isinstance(value, dict)]
    for holder in (part, *inner):
        for key in keys:
            said = holder.get(key)
            if isinstance(said, str) and not is_blank(said) and not said.lstrip().startswith("data:"):
                return f"[{media}: {single_line(said)}]"
    return f"[{media}]"


def _call(call: object) -> str:
    """`name(arguments)`, the arguments as they were sent; what is no call as JSON."""
    if not isinstance(call, dict):
        return text_of(call)
    inner = call.get("function")
    called = inner if isinstance(inner, dict) else call
    name = called.get("name")
    if not isinstance(name, str) or is_blank(name):
        return json_text(call)
    given = next((called[key] for key in ("arguments", "args", "input") if key in called), None)
    arguments = given if isinstance(given, str) else "" if given is None else json_text(given)
    return f"{single_line(name)}({arguments})"
