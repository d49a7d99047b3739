"""A search as of a moment, where something said later has been forgotten."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from pgrecall.deadline import Deadline
from pgrecall.memory import Caps, Extraction, Fact, Message, Question, Selection
from pgrecall.store import Store
from tests.property.logs import spoken
from tests.running import fresh

MAY, JUNE = datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)


def test_a_fact_that_was_drawn_later_is_not_seen_before_though_its_later_message_is_hidden(
    new_database: Callable[..., str],
) -> None:
    user = fresh("late")
    one = spoken(user, "request", "x")
    addition = replace(
        one,
        messages=(Message("user", "I", "I sail", MAY), Message("user", "I", "I row", JUNE)),
        message_vectors=np.concatenate([one.message_vectors] * 2),
        facts=(Fact("They sail and row", (0, 1)),),
        fact_vectors=one.message_vectors,
        extraction=Extraction.DONE,
    )

    async def found(store: Store, as_of: datetime | None) -> list[str]:
        question = Question(one.message_vectors[0], as_of=as_of)
        return [memory.content for memory in await store.search(user, question, 10, Caps(), Deadline(30))]

    async def run() -> tuple[list[str], list[str]]:
        store = Store(new_database(), schema="public", pool_size=1, prepare=True)
        await store.open()
        await store.add(addition, Deadline(30))
        await store.forget(user, Selection(since=JUNE), uuid.uuid4(), False, Deadline(30))
        answers = await found(store, None), await found(store, MAY)
        await store.close()
        return answers

    now, in_may = asyncio.run(run())
    assert now == ["I sail", "They sail and row"]
    assert in_may == ["I sail"]
