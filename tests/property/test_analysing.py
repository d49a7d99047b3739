"""What is analysed later has the very terms that it would have had at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.analysing import Analysing
from pgrecall.deadline import Deadline
from pgrecall.lexical.analysis import VERSION
from pgrecall.lexical.question import asked_terms
from pgrecall.memory import Caps, Question
from pgrecall.store import Store
from tests.property import logs
from tests.running import fresh

TERMS = "SELECT term, n, count, length FROM terms WHERE user_id = %s ORDER BY term, n"
SPELLINGS = "SELECT key, missing, term FROM spellings WHERE user_id = %s ORDER BY 1, 2, 3"
STATE = "SELECT next_n, analysed_n, terms_version, terms_length FROM users WHERE user_id = %s"


@pytest.fixture(scope="module")
def looker(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def store(database: str, runner: asyncio.Runner) -> Iterator[Store]:
    made = Store(database, schema="public", pool_size=4, prepare=True)
    runner.run(made.open())
    yield made
    runner.run(made.close())


def analysis_of(looker: psycopg.Connection, user: str) -> list[list[tuple[object, ...]]]:
    return [looker.execute(statement.encode(), [user]).fetchall() for statement in (TERMS, SPELLINGS, STATE)]


def forget_analysis(looker: psycopg.Connection, user: str, version: int, old_terms: bool) -> None:
    """The state that an older server leaves: no terms, or those of an older analysis."""
    looker.execute(b"DELETE FROM terms WHERE user_id = %s", [user])
    looker.execute(b"DELETE FROM spellings WHERE user_id = %s", [user])
    looker.execute(
        b"UPDATE users SET analysed_n = %s, terms_version = %s, terms_length = %s WHERE user_id = %s",
        [0, version, 3 if old_terms else 0, user],
    )
    if old_terms:
        looker.execute(b"INSERT INTO terms SELECT %s, unnest(ARRAY['older', 'ran']), 0, 1, 3", [user])


@given(st.data(), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_analysis_behind_leaves_what_the_adds_would_have_left(
    store: Store, runner: asyncio.Runner, looker: psycopg.Connection, data: st.DataObject, old_terms: bool
) -> None:
    user = fresh("behind")
    for addition in data.draw(logs.logs(user)):
        runner.run(store.add(addition, Deadline(30)))
    at_once = analysis_of(looker, user)
    some = bool(at_once[2][0][0])
    forget_analysis(looker, user, 0, old_terms and some)
    looker.execute(b"UPDATE users SET terms_version = 0 WHERE user_id = %s", [user])
    if some:
        runner.run(Analysing(store).once())
        assert analysis_of(looker, user) == at_once
        assert runner.run(Analysing(store).once()) == 0


def test_search_works_while_the_analysis_is_behind_and_adds_go_on(
    store: Store, runner: asyncio.Runner, looker: psycopg.Connection
) -> None:
    user = fresh("meanwhile")
    sentences = ["I bought a 35mm lens", "It rained all day", "The crow sat on the fence"]
    adds = [logs.spoken(user, f"request-{place}", text) for place, text in enumerate(sentences)]
    runner.run(store.add(adds[0], Deadline(30)))
    forget_analysis(looker, user, 0, old_terms=False)
    runner.run(store.add(adds[1], Deadline(30)))
    asked = Question(terms=asked_terms("fence crow lens", number_weight=1.0, option_weight=0.0))

    def contents() -> list[str]:
        return [found.content for found in runner.run(store.search(user, asked, 3, Caps(), Deadline(30)))]

    assert set(contents()) == set(sentences[:2])

    async def both() -> None:
        await asyncio.gather(Analysing(store).once(), Analysing(store).once(), store.add(adds[2], Deadline(30)))

    runner.run(both())
    runner.run(Analysing(store).once())
    assert contents() == ["The crow sat on the fence", "I bought a 35mm lens", "It rained all day"]
    ((next_n, analysed_n, version, length),) = analysis_of(looker, user)[2]
    assert (next_n, analysed_n, version) == (3, 3, VERSION)
    assert (
        length
        == looker.execute(
            b"SELECT sum(length) FROM (SELECT DISTINCT n, length FROM terms WHERE user_id = %s) AS m", [user]
        ).fetchall()[0][0]
    )
