"""After a forgetting the search statement returns what the plain Python reference returns for the log without what
was forgotten; after a restoring, for the log as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.deadline import Deadline
from pgrecall.memory import Addition, Forgotten, Kind, Selection
from pgrecall.store import Store
from tests.property import logs, reference
from tests.property.reference import Kept
from tests.property.test_search_reference import Filled, compare
from tests.running import fresh

MOMENTS = [
    datetime(1968, 7, 1, tzinfo=UTC),
    datetime(2023, 5, 20, 14, 0, 30, tzinfo=UTC),
    datetime(2030, 1, 1, tzinfo=UTC),
]


class Forgetful(Filled):
    """A store that forgets, behind plain calls."""

    def forget(self, user: str, selection: Selection, erase: bool) -> Forgotten:
        return self._runner.run(self._store.forget(user, selection, uuid4(), erase, Deadline(30)))

    def restore(self, user: str, selection: Selection) -> Forgotten:
        return self._runner.run(self._store.restore(user, selection, uuid4(), Deadline(30)))


@pytest.fixture(scope="module")
def forgetful(database: str) -> Iterator[Forgetful]:
    store = Store(database, schema="public", pool_size=1, prepare=True)
    with asyncio.Runner() as runner:
        runner.run(store.open())
        yield Forgetful(runner, store)
        runner.run(store.close())


def picks(selection: Selection, memory: Kept) -> bool:
    """Whether all that the selection names holds of a memory."""
    return (
        (selection.ids is None or memory.id in selection.ids)
        and (selection.session_id is None or memory.session_id == selection.session_id)
        and (selection.since is None or (memory.occurred_at is not None and memory.occurred_at >= selection.since))
        and (selection.until is None or (memory.occurred_at is not None and memory.occurred_at < selection.until))
    )


class Remembered:
    """The log of one user, and what of it is hidden: in plain Python."""

    def __init__(self, log: Sequence[Kept]) -> None:
        self.log = list(log)
        self.hidden: set[UUID] = set()
        self.hidden_by_id: set[UUID] = set()

    @property
    def visible(self) -> list[Kept]:
        return [memory for memory in self.log if memory.id not in self.hidden]

    def forget(self, selection: Selection, erase: bool) -> None:
        chosen = {m.id for m in self.log if m.kind is Kind.MESSAGE and picks(selection, m)}
        chosen = chosen if erase else chosen - self.hidden
        facts = [m for m in self.log if m.kind is Kind.FACT]
        by_id = {f.id for f in facts if selection.ids is not None and picks(selection, f)}
        by_id = by_id if erase else by_id - self.hidden
        if erase:
            gone = chosen | by_id | {f.id for f in facts if chosen & set(f.sources)}
            self.log = [memory for memory in self.log if memory.id not in gone]
            self.hidden -= gone
        else:
            self.hidden_by_id |= by_id
            self.hidden |= chosen | by_id
        there = {m.id for m in self.visible}
        self.hidden |= {f.id for f in self.visible if f.kind is Kind.FACT and not there & set(f.sources)}

    def restore(self, selection: Selection) -> None:
        back = {m.id for m in self.log if m.kind is Kind.MESSAGE and m.id in self.hidden and picks(selection, m)}
        self.hidden -= back
        there = {m.id for m in self.visible}
        for fact in [m for m in self.log if m.kind is Kind.FACT and m.id in self.hidden]:
            rests, asked = bool(there & set(fact.sources)), fact.id in self.hidden_by_id
            if rests and (picks(selection, fact) or (not asked and back & set(fact.sources))):
                self.hidden.discard(fact.id)
                self.hidden_by_id.discard(fact.id)


def selections(log: Sequence[Kept]) -> st.SearchStrategy[Selection]:
    ids = st.lists(st.sampled_from([m.id for m in log] or [UUID(int=1)]), max_size=4).map(tuple)
    return st.builds(
        Selection,
        ids=st.none() | ids,
        session_id=st.none() | st.sampled_from(["morning", "evening"]),
        since=st.sampled_from([None, None, *MOMENTS]),
        until=st.sampled_from([None, None, *MOMENTS]),
    ).filter(lambda selection: bool(selection.named))


@given(st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_was_forgotten_is_in_no_channel_and_what_was_restored_is_in_all(
    forgetful: Forgetful, database: str, data: st.DataObject
) -> None:
    user = fresh("forgetting")
    additions: list[Addition] = data.draw(logs.logs(user))
    for addition in additions:
        forgetful.add(addition)
    remembered = Remembered(reference.stored(additions))
    for _ in range(data.draw(st.integers(1, 3))):
        selection = data.draw(selections(remembered.log))
        if data.draw(st.booleans(), "restore"):
            forgetful.restore(user, selection)
            remembered.restore(selection)
        else:
            erase = data.draw(st.booleans(), "erase")
            forgetful.forget(user, selection, erase)
            remembered.forget(selection, erase)
        compare(forgetful, user, remembered.visible, data)
    forgetful.restore(user, Selection(since=datetime(1, 1, 1, tzinfo=UTC)))
    forgetful.restore(user, Selection(ids=tuple(memory.id for memory in remembered.log)))
    remembered.hidden.clear()
    compare(forgetful, user, remembered.log, data)
    assert leftovers(database, user) == expected_leftovers(remembered.log)


def leftovers(database: str, user: str) -> tuple[set[UUID], set[str], set[tuple[str, int, str]]]:
    """Ids, terms and spellings that the tables hold of a user."""
    with psycopg.connect(database, autocommit=True) as connection:
        ids = connection.execute(
            """SELECT id FROM messages WHERE user_id = %(u)s UNION ALL SELECT id FROM facts WHERE user_id = %(u)s
               UNION ALL SELECT id FROM forgotten_messages WHERE user_id = %(u)s
               UNION ALL SELECT id FROM forgotten_facts WHERE user_id = %(u)s""",
            {"u": user},
        ).fetchall()
        terms = connection.execute("SELECT DISTINCT term FROM terms WHERE user_id = %s", [user]).fetchall()
        spellings = connection.execute(
            "SELECT key, missing, term FROM spellings WHERE user_id = %s", [user]
        ).fetchall()
    return {id_ for (id_,) in ids}, {term for (term,) in terms}, {(k, m, t) for k, m, t in spellings}


def expected_leftovers(log: Sequence[Kept]) -> tuple[set[UUID], set[str], set[tuple[str, int, str]]]:
    spellings = set()
    for memory in log:
        for word, term in memory.analysis.words.items():
            spellings |= {(word, 0, term)} | {(word[:g] + word[g + 1 :], 1, term) for g in range(len(word))}
    return {m.id for m in log}, {term for m in log for term in m.analysis.terms}, spellings
