"""`pgrecall import --from`: the exports of others, dates and speakers kept, and said what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgrecall.bulk.foreign import Dropped, bodies
from pgrecall.contract import read_add
from tests.integration.commands import pgrecall


def node(parent: str | None, role: str, *parts: Any, at: float | None = None, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": more.pop("kind", "text"), "parts": list(parts)},
        "metadata": more,
    }
    return {"parent": parent, "children": [], "message": message}


CHATGPT = [
    {
        "title": "A cat",
        "conversation_id": "c-1",
        "current_node": "e",
        "mapping": {
            "root": {"parent": None, "children": ["s"], "message": None},
            "s": node("root", "system", ""),
            "a": node("s", "user", "I adopted a cat.", at=1684591200.25),
            "b": node("a", "assistant", "Congratulations!", at=1684591260.0),
            "left": node("a", "assistant", "An answer that was asked for again.", at=1684591230.0),
            "t": node("b", "assistant", "search()", kind="code"),
            "r": node("t", "tool", "found"),
            "h": node("r", "user", "what I am told about you", is_visually_hidden_from_conversation=True),
            "d": node("h", "user", {"content_type": "image_asset_pointer", "image_url": "x"}, "Her name is Miso.",
                      kind="multimodal_text"),
            "e": node("d", "assistant", "A fine name.", at=1684591320.0),
        },
    }
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "k-1",
        "account": {"uuid": "acc-1"},
        "chat_messages": [
            {"uuid": "m-1", "sender": "human", "text": "I moved to Porto.", "created_at": "2023-05-20T14:00:00.5Z",
             "content": [{"type": "text", "text": "I moved to Porto."}], "attachments": [{"file_name": "lease"}]},
            {"uuid": "m-2", "sender": "assistant", "text": "", "created_at": "2023-05-20T14:01:00Z",
             "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "How is it?"}]},
            {"uuid": "m-3", "sender": "human", "text": "", "created_at": "2023-05-20T14:02:00Z", "content": []},
        ],
    }
]  # fmt: skip
MEM0 = {
    "results": [
        {"id": "1", "memory": "Likes green tea", "user_id": "ana", "run_id": None, "hash": "x",
         "metadata": {"from": "chat"}, "created_at": "2024-07-01T05:00:00-07:00", "updated_at": None},
        {"id": "2", "memory": "Answers briefly", "agent_id": "tutor", "created_at": "2024-07-02T05:00:00-07:00"},
    ]
}  # fmt: skip
ZEP = {
    "sessions": [
        {"session_id": "z-1", "user_id": "ben", "facts": ["Ben rows"],
         "messages": [
             {"uuid": "1", "role": "Ben", "role_type": "user", "content": "I row.",
              "created_at": "2024-01-02T03:04:05Z"},
             {"uuid": "2", "role": "coach", "role_type": "assistant", "content": "Well done.",
              "metadata": {"a": 1}},
             {"uuid": "3", "role": "bot", "role_type": "system", "content": "Be kind."},
         ]},
    ]
}  # fmt: skip


def read(form: Any, document: Any, user: str | None = None) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Session, speaker, content and moment of every message; what was dropped."""
    dropped = Dropped()
    calls = [read_add(body) for _, body in bodies(form, document, user, dropped)]
    said = [
        (call.user_id, call.session_id, m.role, m.speaker, m.content, m.occurred_at)
        for call in calls
        for m in call.messages
    ]
    return said, dict(dropped.counts)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


def test_chatgpt_gives_the_branch_that_is_shown() -> None:
    said, dropped = read("chatgpt", CHATGPT, "ana")
    assert said == [
        ("ana", "c-1", "user", "I", "I adopted a cat.", at(2023, 5, 20, 14, 0, 0, 250_000)),
        ("ana", "c-1", "assistant", "assistant", "Congratulations!", at(2023, 5, 20, 14, 1)),
        ("ana", "c-1", "user", "I", "[image]\nHer name is Miso.", at(2023, 5, 20, 14, 2)),
        ("ana", "c-1", "assistant", "assistant", "A fine name.", at(2023, 5, 20, 14, 2)),
    ]
    assert dropped == {
        "a branch that was left": 1,
        "said by system": 1,
        "said by tool": 1,
        "no text: code, thoughts or a tool's": 1,
        "hidden from the conversation": 1,
    }


def test_claude_gives_what_was_written() -> None:
    said, dropped = read("claude", CLAUDE)
    assert said == [
        ("acc-1", "k-1", "user", "I", "I moved to Porto.", at(2023, 5, 20, 14, 0, 0, 500_000)),
        ("acc-1", "k-1", "assistant", "assistant", "How is it?", at(2023, 5, 20, 14, 1)),
    ]
    assert dropped == {"an attached file": 1, "no text: thoughts or a tool's": 1, "an empty message": 1}


def test_mem0_gives_each_memory_with_its_date() -> None:
    said, dropped = read("mem0", MEM0)
    assert said == [("ana", "mem0", "user", "I", "Likes green tea", at(2024, 7, 1, 12))]
    assert dropped == {"its metadata": 1, "no user is named: say --user": 1}
    said, _ = read("mem0", MEM0, "owner")
    assert [(user, speaker) for user, _, _, speaker, _, _ in said] == [("ana", "I"), ("owner", "assistant")]


def test_zep_gives_names_and_dates() -> None:
    said, dropped = read("zep", ZEP)
    assert said == [
        ("ben", "z-1", "user", "Ben", "I row.", at(2024, 1, 2, 3, 4, 5)),
        ("ben", "z-1", "assistant", "coach", "Well done.", at(2024, 1, 2, 3, 4, 5)),
    ]
    assert dropped == {"its facts": 1, "the metadata of a message": 1, "said by system": 1}


@pytest.mark.parametrize("form", ["chatgpt", "claude", "mem0", "zep"])
@pytest.mark.parametrize("document", [None, 3, [None, 7, {}], {"sessions": 4}, [{"mapping": 3, "messages": "x"}]])
def test_what_is_no_export_is_no_error(form: Any, document: Any) -> None:
    assert read(form, document, "ana")[0] == []


def test_later_export_adds_what_was_said_since(tmp_path: Path, new_database: Callable[..., str]) -> None:
    url = new_database()
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(CLAUDE))
    dry = pgrecall(tmp_path, "import", "--from", "claude", str(file), "--dry-run", PGRECALL_DATABASE_URL=url)
    assert "an attached file" in dry.stdout
    assert "conversation 1" in dry.stdout
    assert pgrecall(tmp_path, "import", "--from", "claude", str(file), PGRECALL_DATABASE_URL=url).returncode == 0
    longer = json.loads(json.dumps(CLAUDE))
    longer[0]["chat_messages"] += [
        {"uuid": "m-4", "sender": "human", "text": "It is warm.", "created_at": "2023-05-21T14:00:00Z"}
    ]
    file.write_text(json.dumps(longer))
    done = pgrecall(tmp_path, "import", "--from", "claude", str(file), PGRECALL_DATABASE_URL=url)
    assert done.returncode == 0, done.stdout
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT content, turn_index FROM messages ORDER BY n").fetchall()
    assert rows == [("I moved to Porto.", 0), ("How is it?", 1), ("It is warm.", 2)]


def test_file_that_is_no_json_is_refused_in_two_lines(tmp_path: Path, new_database: Callable[..., str]) -> None:
    file = tmp_path / "conversations.json"
    file.write_text("[{")
    done = pgrecall(tmp_path, "import", "--from", "zep", str(file), PGRECALL_DATABASE_URL=new_database())
    assert done.returncode == 1
    assert "It cannot be read: the file is not JSON" in done.stderr
    assert "Traceback" not in done.stderr
