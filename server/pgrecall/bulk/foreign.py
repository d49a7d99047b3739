"""Exports of others as bodies of Adds: dates and speakers kept, and a word on all that is not.

- `chatgpt`: conversations.json of ChatGPT's data export; of the tree of each conversation the branch it ends with.
- `claude`: conversations.json of Claude's data export.
- `mem0`: what get_all returns, `{"results": [...]}` or the list; each memory is a message.
- `zep`: sessions with their messages, `{"sessions": [{"session_id", "user_id", "messages": [...]}]}`, or one.

A conversation becomes a session. A request is what was said from one message of the user's to before the next,
named by its first message: an export made later adds what was said since. Such a file is read whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pgrecall.contract.content import text_of

Form = Literal["chatgpt", "claude", "mem0", "zep"]
MOST_NAMED = 1000
Json = dict[str, Any]


@dataclass(slots=True)
class Dropped:
    """What an import leaves out: how often, and of the first of them where. Never what it says."""

    counts: Counter[str] = field(default_factory=Counter)
    places: list[tuple[str, str]] = field(default_factory=list)

    def drop(self, place: str, why: str) -> None:
        self.counts[why] += 1
        if len(self.places) < MOST_NAMED:
            self.places.append((place, why))


@dataclass(frozen=True, slots=True)
class Said:
    """One message, as it goes into a body; `id` names it in its conversation."""

    id: str
    message: Json


def bodies(form: Form, document: object, user_id: str | None, dropped: Dropped) -> Iterator[tuple[int, Json]]:
    """The bodies, each with the number of its conversation (of mem0: of the memory), from 1. `user_id`: where the
    export names none."""
    for number, entry in enumerate(_entries(document), start=1):
        place = f"conversation {number}"
        if not isinstance(entry, dict):
            dropped.drop(place, "no object")
            continue
        session_id, said = READERS[form](entry, place, dropped)
        owner = _owner(form, entry) or user_id
        if owner is None:
            dropped.drop(place, "no user is named: say --user")
            continue
        for exchange in _exchanges(said):
            yield (
                number,
                {
                    "request_id": f"{form}:{session_id}:{exchange[0].id}",
                    "user_id": owner,
                    "session_id": session_id,
                    "messages": [one.message for one in exchange],
                },
            )


def _entries(document: object) -> list[object]:
    """The conversations of a file: a list, a list under its name, or one alone."""
    if isinstance(document, dict):
        for name in ("results", "sessions", "conversations"):
            if isinstance(document.get(name), list):
                return list(document[name])
    return document if isinstance(document, list) else [document]


def _owner(form: Form, entry: Json) -> str | None:
    account = entry.get("account")
    named = account.get("uuid") if form == "claude" and isinstance(account, dict) else entry.get("user_id")
    return named if isinstance(named, str) and named and form != "chatgpt" else None


def _exchanges(said: list[Said]) -> Iterator[list[Said]]:
    exchange: list[Said] = []
    for one in said:
        if one.message["role"] == "user" and any(other.message["role"] != "user" for other in exchange):
            yield exchange
            exchange = []
        exchange.append(one)
    if exchange:
        yield exchange


def _chatgpt(entry: Json, place: str, dropped: Dropped) -> tuple[str, list[Said]]:
    nodes = entry.get("mapping")
    nodes = nodes if isinstance(nodes, dict) else {}
    path: dict[str, Json] = {}
    at = entry.get("current_node")
    while isinstance(at, str) and at not in path and isinstance(node := nodes.get(at), dict):
        path[at] = node
        at = node.get("parent")
    for name in nodes.keys() - path.keys():
        if isinstance(nodes[name], dict) and nodes[name].get("message"):
            dropped.drop(place, "a branch that was left")
    said: list[Said] = []
    for name, node in reversed(path.items()):
        message = node.get("message")
        if not isinstance(message, dict):
            continue  # the root holds none
        if (why := _hidden(message)) is not None:
            dropped.drop(place, why)
            continue
        author, content = message["author"], message["content"]
        sent = {
            "role": author["role"],
            "content": text_of(content.get("parts")),
            "timestamp": message.get("create_time"),
        }
        _take(said, Said(name, sent | ({"name": author["name"]} if author.get("name") else {})), place, dropped)
    return str(entry.get("conversation_id") or entry.get("id") or place), said


def _hidden(message: Json) -> str | None:
    """Why a message of ChatGPT's is left out."""
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, dict) else None
    kind = content.get("content_type") if isinstance(content, dict) else None
    if role not in ("user", "assistant"):
        return f"said by {role if role in ('system', 'tool') else 'nobody known'}"
    metadata = message.get("metadata")
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return "hidden from the conversation"
    return None if kind in ("text", "multimodal_text") else "no text: code, thoughts or a tool's"


def _claude(entry: Json, place: str, dropped: Dropped) -> tuple[str, list[Said]]:
    said: list[Said] = []
    for number, message in enumerate(_messages(entry, "chat_messages")):
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
        for block in blocks:
            if block.get("type") != "text":
                dropped.drop(place, "no text: thoughts or a tool's")
        for name in ("attachments", "files"):
            for _ in message.get(name) or ():
                dropped.drop(place, "an attached file")
        text = "\n".join(filter(None, texts)) or text_of(message.get("text"))
        role = "user" if message.get("sender") in ("human", "user") else "assistant"
        sent = {"role": role, "content": text, "timestamp": message.get("created_at")}
        _take(said, Said(str(message.get("uuid") or number), sent), place, dropped)
    return str(entry.get("uuid") or place), said


def _mem0(entry: Json, place: str, dropped: Dropped) -> tuple[str, list[Said]]:
    for name in ("metadata", "categories", "updated_at"):
        if entry.get(name) and entry.get(name) != entry.get("created_at"):
            dropped.drop(place, f"its {name}")
    role = "assistant" if entry.get("agent_id") and not entry.get("user_id") else "user"
    sent = {"role": role, "content": text_of(entry.get("memory")), "timestamp": entry.get("created_at")}
    said: list[Said] = []
    _take(said, Said(str(entry.get("id") or place), sent), place, dropped)
    return str(entry.get("run_id") or "mem0"), said


def _zep(entry: Json, place: str, dropped: Dropped) -> tuple[str, list[Said]]:
    said: list[Said] = []
    for name in ("facts", "summary", "metadata"):
        if entry.get(name):
            dropped.drop(place, f"its {name}")
    for number, message in enumerate(_messages(entry, "messages")):
        kind, label = message.get("role_type"), message.get("role")
        role = ZEP_ROLES.get(str(kind or label), str(kind or label or "user"))
        if role in ("system", "tool", "function"):
            dropped.drop(place, f"said by {role}")
            continue
        if message.get("metadata"):
            dropped.drop(place, "the metadata of a message")
        sent = {"role": role, "content": text_of(message.get("content")), "timestamp": message.get("created_at")}
        named = kind and isinstance(label, str) and label not in ("", kind, *ZEP_ROLES)
        one = Said(str(message.get("uuid") or number), sent | ({"name": label} if named else {}))
        _take(said, one, place, dropped)
    return str(entry.get("session_id") or place), said


ZEP_ROLES = {"human": "user", "ai": "assistant", "norole": "user"}


def _take(said: list[Said], one: Said, place: str, dropped: Dropped) -> None:
    if one.message["content"].strip():
        said.append(one)
    else:
        dropped.drop(place, "an empty message")


def _messages(entry: Json, name: str) -> list[Json]:
    messages = entry.get(name)
    return [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []


Reader = Callable[[Json, str, Dropped], tuple[str, list[Said]]]
READERS: dict[Form, Reader] = {"chatgpt": _chatgpt, "claude": _claude, "mem0": _mem0, "zep": _zep}
