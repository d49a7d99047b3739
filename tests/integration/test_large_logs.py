"""Logs whose vectors lie in the index over all users: the same answers as by scanning, at every moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from pgrecall.deadline import Deadline
from pgrecall.ids import stored_id
from pgrecall.indexing import Indexing
from pgrecall.lexical.question import asked_terms
from pgrecall.memory import (
    DIMENSIONS,
    Addition,
    Caps,
    Extraction,
    Fact,
    FoundMemory,
    Message,
    Question,
    Selection,
    Vectors,
)
from pgrecall.store import Store
from tests.running import fresh

LOG, CANDIDATES, TOP_K = 600, 60, 30
EF_SEARCH = 1000
"""Above the size of the log: the index then misses next to nothing, and what differs is another rule."""
WORDS = ["lake", "boat", "oar", "rain", "ferry", "map", "tent", "fire", "stove", "rope", "knot", "sail", "tide"]
START = datetime(2023, 1, 1, tzinfo=UTC)
CAPS = Caps(candidates=CANDIDATES)


class Log:
    """One user's log of clustered vectors, in a store whose index begins at any size."""

    def __init__(self, store: Store, url: str) -> None:
        self.store = store
        self.url = url
        self.user = fresh("large")
        self.random = np.random.default_rng(11)
        self.centres = self.random.normal(size=(12, DIMENSIONS))
        self.added = 0

    def vectors(self, count: int) -> Vectors:
        made = self.centres[self.random.integers(12, size=count)] + self.random.normal(size=(count, DIMENSIONS))
        shrunk: Vectors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
        return shrunk

    async def add(self, messages: int) -> None:
        """In requests of 20, a fact on every tenth message."""
        for first in range(0, messages, 20):
            count = min(20, messages - first)
            place = self.added
            said = tuple(
                Message("user", "I", " ".join(self.random.choice(WORDS, 5)) + f" {place + n}", self.when(place + n))
                for n in range(count)
            )
            facts = tuple(Fact(f"I saw the {WORDS[n % 13]} {place + n}.", (n,)) for n in range(0, count, 10))
            await self.store.add(
                Addition(
                    self.user, f"r{place}", f"s{place // 40}", bytes(32), said, self.vectors(count), facts,
                    self.vectors(len(facts)), Extraction.DONE, None, 1, "stand-in",
                ),
                Deadline(30),
            )  # fmt: skip
            self.added += count

    @staticmethod
    def when(place: int) -> datetime:
        return START + timedelta(hours=3 * place)

    async def search(self, question: Question, caps: Caps = CAPS) -> list[FoundMemory]:
        return await self.store.search(self.user, question, TOP_K, caps, Deadline(30))

    async def index(self) -> int:
        """This log alone: others lie in the same database."""
        copied = 0
        while batch := await self.store.index(stored_id(self.user)[0], 100, Deadline(30)):
            copied += batch
        return copied

    def questions(self) -> list[Question]:
        """By vector and words, by two vectors, by words, with a time, by nothing."""
        vectors = self.vectors(24)
        made = []
        for place in range(0, 24, 2):
            terms = asked_terms(" ".join(self.random.choice(WORDS, 3)), number_weight=1.5, option_weight=0.3)
            day = date(2023, 1, 5) + timedelta(days=place)
            made += [
                Question(vectors[place], None, terms),
                Question(vectors[place], vectors[place + 1], terms),
                Question(None, None, terms),
                Question(vectors[place], None, terms, ((day, day + timedelta(days=2)),)),
            ]
        return [*made, Question()]

    def rows(self, statement: str) -> Any:
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(statement.encode(), {"user": self.user}).fetchone()
            return found[0] if found else None


@pytest.fixture
async def log(database: str) -> AsyncIterator[Log]:
    store = Store(database, schema="public", pool_size=2, prepare=True, candidates=EF_SEARCH)
    await store.open()
    yield Log(store, database)
    await store.close()


def scored(found: list[FoundMemory]) -> dict[Any, float]:
    """What has a score of its own; what has none comes in any log only where nothing better is left."""
    return {memory.id: round(memory.score, 9) for memory in found if memory.score > 0}


async def alike(log: Log, questions: list[Question], before: list[list[FoundMemory]]) -> float:
    """The share of what the scan finds that is found again, with the same score."""
    shares = []
    for question, scan in zip(questions, before, strict=True):
        expected, found = scored(scan), scored(await log.search(question))
        same = [id_ for id_, score in expected.items() if found.get(id_) == score]
        shares.append(len(same) / len(expected) if expected else 1.0)
    return float(np.mean(shares))


async def test_large_log_answers_as_if_it_were_scanned(log: Log) -> None:
    await log.add(LOG)
    questions = log.questions()
    scans = [await log.search(question) for question in questions]
    assert all(scans)
    assert await log.index() == LOG + LOG // 10
    assert log.rows("SELECT indexed_through = next_n FROM users WHERE user_id = %(user)s")
    assert await alike(log, questions, scans) >= 0.98


async def test_what_is_added_after_the_index_is_found_at_once(log: Log) -> None:
    await log.add(LOG // 2)
    await log.index()
    await log.add(LOG // 2)
    questions = log.questions()
    behind = [await log.search(question) for question in questions]
    await log.index()
    assert await alike(log, questions, behind) >= 0.98
    with psycopg.connect(log.url, autocommit=True) as connection:
        connection.execute("UPDATE users SET indexed_through = 0 WHERE user_id = %s", (log.user,))
    scans = [await log.search(question) for question in questions]
    assert np.mean([scored(a) == scored(b) for a, b in zip(behind, scans, strict=True)]) >= 0.9


async def test_forgotten_memories_leave_the_index_and_come_back_to_it(log: Log) -> None:
    await log.add(200)
    await log.index()
    question = Question(log.vectors(1)[0])
    found = await log.search(question)
    gone = Selection(ids=(found[0].id,))
    inside = "SELECT count(*) FROM large_vectors WHERE user_id = %(user)s"
    assert log.rows(inside) == 220
    await log.store.forget(log.user, gone, uuid4(), False, Deadline(30))
    assert found[0].id not in {memory.id for memory in await log.search(question)}
    forgotten = log.rows(inside)
    assert forgotten < 220
    await log.store.restore(log.user, gone, uuid4(), Deadline(30))
    assert (await log.search(question))[0].id == found[0].id, "before it is indexed again"
    await log.index()
    assert log.rows(inside) == 220
    assert (await log.search(question))[0].id == found[0].id
    await log.store.forget(log.user, Selection(session_id="s0"), uuid4(), True, Deadline(30))
    assert log.rows(inside) == log.rows(
        "SELECT (SELECT count(*) FROM messages WHERE user_id = %(user)s)"
        " + (SELECT count(*) FROM facts WHERE user_id = %(user)s)"
    )


async def test_memory_forgotten_while_it_was_being_copied_leaves_nothing_behind(log: Log) -> None:
    await log.add(40)
    await log.index()
    await log.add(20)
    with psycopg.connect(log.url, autocommit=True) as connection:
        # As copy.sql leaves it before copied.sql: rows of the index beyond the mark, one of a memory that is gone.
        connection.execute(
            "INSERT INTO large_vectors (user_id, n, coded)"
            " SELECT user_id, next_n - 1, (SELECT coded FROM large_vectors LIMIT 1) FROM users WHERE user_id = %s",
            (log.user,),
        )
        connection.execute(
            "DELETE FROM facts WHERE user_id = %s AND n = (SELECT max(n) FROM facts WHERE user_id = %s)",
            (log.user, log.user),
        )
    await log.index()
    assert log.rows("SELECT count(*) FROM large_vectors WHERE user_id = %(user)s") == 65


async def test_only_logs_above_the_size_are_indexed_and_all_of_each(new_database: Callable[..., str]) -> None:
    url = new_database()
    store = Store(url, schema="public", pool_size=2, prepare=True)
    await store.open()
    logs = [Log(store, url) for _ in range(4)]
    for log, messages in zip(logs, (40, 60, 240, 20), strict=True):
        await log.add(messages)
    assert await Indexing(store, index_from=44).once() == 66 + 264
    marks = [log.rows("SELECT indexed_through FROM users WHERE user_id = %(user)s") for log in logs]
    assert marks == [0, 66, 264, 0]
    assert await Indexing(store, index_from=44).once() == 0
    await store.close()


async def test_one_process_copies_at_a_time(log: Log) -> None:
    await log.add(40)
    with psycopg.connect(log.url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (0x70677265_696E6478,))
        assert await log.store.index(log.user, 100, Deadline(30)) == 0
    assert await log.store.index(log.user, 100, Deadline(30)) == 44
