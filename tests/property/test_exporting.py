"""An export, imported into an empty store, is exported again byte for byte; and that store answers as the first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.bench.provider import StandIn
from pgrecall.contract import read_add
from pgrecall.deadline import Deadline
from pgrecall.memory import Caps, Question, Selection
from pgrecall.settings import Settings
from pgrecall.store import Store
from tests.property.both import Both, exported, rows
from tests.property.test_importing import bodies

EARLY = datetime(2023, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module", params=["no model", "a model"])
def both(
    request: pytest.FixtureRequest, runner: asyncio.Runner, new_database: Callable[..., str]
) -> Iterator[Both]:
    with StandIn() as provider:
        model = {"llm_mode": "best_effort", "llm_base_url": provider.base_url, "llm_retries": 0, "fact_keys": True}
        made = Both(
            runner, new_database(), new_database(),
            Settings(**(model if request.param == "a model" else {})), zone="Europe/Berlin",
        )  # fmt: skip
        yield made
        made.close()


def memories(url: str) -> list[tuple[str, UUID, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT user_id, id, content FROM messages UNION ALL SELECT user_id, id, content FROM facts"
            " ORDER BY user_id, id"
        ).fetchall()


@st.composite
def forgettings(draw: st.DrawFn) -> tuple[int, bool, str | None]:
    """Which memory of those there are (or which session), whether for good."""
    return draw(st.integers(0, 50)), draw(st.booleans()), draw(st.sampled_from([None, None, "s1"]))


def forget(both: Both, runner: asyncio.Runner, which: int, erase: bool, session_id: str | None) -> None:
    there = memories(both.urls[0])
    if there:
        user, id_, _ = there[which % len(there)]
        if user.startswith("sha256:"):
            return  # its id as sent is not in this table
        selection = Selection(session_id=session_id) if session_id else Selection(ids=(id_,))
        runner.run(both.store.forget(user, selection, uuid4(), erase, Deadline(30)))


@given(st.lists(bodies, min_size=1, max_size=6), st.lists(forgettings(), max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_export_imported_is_the_same_export(
    both: Both, runner: asyncio.Runner, sent: list[dict[str, Any]], gone: list[tuple[int, bool, str | None]]
) -> None:
    both.empty()
    both.add(sent)
    for one in gone:
        forget(both, runner, *one)
    text = exported(both.urls[0])
    both.read(text)
    assert exported(both.urls[1]) == text
    assert memories(both.urls[1]) == memories(both.urls[0])
    added, imported = map(rows, both.urls)
    if not gone:
        assert imported == added
    for table in ("users", "sessions", "requests", "spellings"):  # counters, and what no number stands in
        assert imported[table] == added[table]
    for done in (both.read(text), both.put(sent)):  # neither brings anything, nor anything back
        assert not any(prepared.ready for prepared, _ in done)


def test_restored_memories_come_back_in_the_imported_store(
    both: Both, runner: asyncio.Runner, new_database: Callable[..., str]
) -> None:
    both.empty()
    body = {
        "request_id": "r", "user_id": "ana", "session_id": "s", "timezone": "Asia/Tokyo",
        "messages": [{"content": "I moved to Porto yesterday.", "timestamp": "2023-05-20T14:00:00Z"}, "It rains."],
    }  # fmt: skip
    both.add([body])
    audit_id = uuid4()
    runner.run(both.store.forget("ana", Selection(session_id="s"), audit_id, False, Deadline(30)))
    assert json.loads(exported(both.urls[0]).splitlines()[0])["messages"][0]["hidden_by"] == str(audit_id)
    both.read(exported(both.urls[0]))
    other = Store(both.urls[1], schema="public", pool_size=1, prepare=True)
    runner.run(other.open())
    for store in (both.store, other):
        assert runner.run(store.search("ana", Question(), 9, Caps(), Deadline(30))) == []
        runner.run(store.restore("ana", Selection(forget_id=audit_id), uuid4(), Deadline(30)))
    found = [runner.run(one.search("ana", Question(), 9, Caps(), Deadline(30))) for one in (both.store, other)]
    runner.run(other.close())
    assert found[0] == found[1]
    assert found[0][0].occurred_at is not None
    added, imported = map(rows, both.urls)
    assert imported == added


def test_one_user_is_exported_alone_and_a_line_is_the_body_of_an_add(both: Both) -> None:
    both.empty()
    sent = [
        {
            "request_id": "r", "user_id": user, "session_id": "s",
            "messages": [{"role": "user", "content": "Nils: I moved.", "timestamp": "2023-05-20T14:00:00+02:00"}],
        }
        for user in ("ana", "ben")
    ]  # fmt: skip
    both.add(sent)
    (line,) = exported(both.urls[0], "ben").splitlines()
    again, before = read_add(json.loads(line)), read_add(sent[1])
    assert (again.user_id, again.request_id, again.session_id) == ("ben", "r", "s")
    assert again.messages == before.messages
