"""What the stand-in provider answers: a function of the text alone, and the ways to spoil it."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Drawn = Sequence[tuple[str, Sequence[int]]]
"""Facts, each with the numbers (1-based) of the lines it rests on."""
Draw = Callable[[list[str]], Drawn]
"""From the numbered lines of a request to the facts of its reply."""

_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+")
_LINE = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
_HEAD = re.compile(r"^(?:\[[^\]]*\] )?[^:]{1,60}: ")


@functools.lru_cache(maxsize=20_000)
def _word_vector(word: str, dimensions: int) -> NDArray[np.float32]:
    key = int.from_bytes(hashlib.sha256(word.encode()).digest()[:16])
    return np.random.Generator(np.random.Philox(key=key)).standard_normal(dimensions, np.float32)


def vector(text: str, dimensions: int) -> list[float]:
    """A bag of words of length 1: texts that share words are similar, on any machine by the same bits."""
    words = _WORD.findall(text.casefold()) or [text]
    total = np.sum([_word_vector(word, dimensions) for word in words], axis=0, dtype=np.float64)
    rounded: list[float] = np.round(total / np.linalg.norm(total), 6).tolist()
    return rounded


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    dimensions = body.get("dimensions", 1024)
    data = [
        {"object": "embedding", "index": index, "embedding": vector(text, dimensions)}
        for index, text in enumerate(texts)
    ]
    return {"object": "list", "model": body["model"], "data": data}


def chat(body: Mapping[str, Any], draw: Draw) -> dict[str, Any]:
    """A completion for the prompts of pgrecall.language.prompts, told apart by their tags."""
    user = body["messages"][-1]["content"]
    if (log := _block(user, "log")) is not None:
        facts = [{"fact": fact, "lines": list(lines)} for fact, lines in draw(_LINE.findall(log))]
        return completion(json.dumps({"facts": facts}, ensure_ascii=False))
    query = (_block(user, "query") or "").strip().rstrip("?？")
    more = "more " if _block(user, "found") is not None else ""
    question = f"Did I tell you {more}about {query}?"
    reply = {"recall_question": question, "key_words": query.split()[:3], "time": None}
    return completion(json.dumps(reply, ensure_ascii=False))


def completion(content: str | None, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "stand-in",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def note_each(lines: list[str]) -> Drawn:
    """One fact a line, in the line's own words."""
    return [
        (f"I noted: {' '.join(_HEAD.sub('', line).split()[:20])}", [number])
        for number, line in enumerate(lines, start=1)
    ]


def _block(text: str, tag: str) -> str | None:
    found = re.search(rf"<{tag}>\n(.*)\n</{tag}>", text, re.DOTALL)
    return found.group(1) if found else None


def _each_vector(change: Callable[[list[Any]], list[Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def spoil(reply: dict[str, Any]) -> dict[str, Any]:
        data = [{**entry, "embedding": change(entry["embedding"])} for entry in reply["data"]]
        return {**reply, "data": data}

    return spoil


def _data(change: Callable[[list[Any]], list[Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda reply: {**reply, "data": change(reply["data"])}


def _half(reply: dict[str, Any]) -> dict[str, Any]:
    content = reply["choices"][0]["message"]["content"]
    return completion(content[: len(content) // 2], "length")


SPOILED: Mapping[str, Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "embeddings": {
        "too_few": _data(lambda data: data[:-1]),
        "reversed": _data(lambda data: data[::-1]),
        "same_index": _data(lambda data: [{**entry, "index": 0} for entry in data]),
        "no_index": _data(lambda data: [{"embedding": entry["embedding"]} for entry in data]),
        "wrong_dimensions": _each_vector(lambda values: values[:-1]),
        "nan": _each_vector(lambda values: [float("nan"), *values[1:]]),
        "null": _each_vector(lambda values: [None, *values[1:]]),
        "infinite": _each_vector(lambda values: [float("inf"), *values[1:]]),
        "zeros": _each_vector(lambda values: [0.0] * len(values)),
        "text": _each_vector(lambda values: ["no number", *values[1:]]),
        "other_json": lambda _: {"error": "no"},
    },
    "chat": {
        "refuse": lambda _: completion(None, refusal="I cannot help with that."),
        "content_filter": lambda _: completion("", "content_filter"),
        "prose": lambda _: completion("Sure! Here are some facts about the log."),
        "half": _half,
        "empty": lambda _: completion(""),
        "other_json": lambda _: {"error": "no"},
    },
}
"""endpoint -> how -> what becomes of the right reply."""
