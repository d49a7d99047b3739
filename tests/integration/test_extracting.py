"""`pgrecall extract --missing`: facts of what was stored without them, as the Add would have drawn them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ops.bench.provider import StandIn
from tests.integration.commands import pgrecall
from tests.running import add_body, serving

TEXTS = ("I moved to Porto yesterday.", "My sister lives in Oslo.", "It rains.")


@pytest.fixture
def provider() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


def facts(url: str) -> list[tuple[Any, ...]]:
    """All that does not depend on when they were numbered."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT f.id, f.content, f.position, f.occurred_at, f.turn_index, f.line_key, f.language_model,"
            " f.prompt_version, f.embedding::text, (SELECT array_agg(m.id ORDER BY m.n) FROM messages AS m"
            " WHERE m.user_id = f.user_id AND m.n = ANY (f.source_ns)), (SELECT array_agg(term ORDER BY term)"
            " FROM terms AS t WHERE t.user_id = f.user_id AND t.n = f.n) FROM facts AS f ORDER BY f.id"
        ).fetchall()


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


STATES = (
    "SELECT coalesce(m.id, f.id), place, subject_key, attribute, value, drawn, alone FROM states AS s"
    " LEFT JOIN messages AS m USING (user_id, n) LEFT JOIN facts AS f USING (user_id, n) ORDER BY 1, 2"
)
USERS = "SELECT user_id, next_n, analysed_n, terms_length FROM users ORDER BY user_id"
SPELLINGS = "SELECT * FROM spellings ORDER BY user_id, key, missing, term"


def model(provider: StandIn) -> dict[str, str]:
    return {
        "PGRECALL_LLM_MODE": "best_effort",
        "PGRECALL_LLM_BASE_URL": provider.base_url,
        "PGRECALL_LLM_RETRIES": "0",
        "PGRECALL_FACT_KEYS": "true",
    }


def bodies(count: int = 6) -> list[dict[str, Any]]:
    return [add_body(f"u{number % 2}", *TEXTS, request=f"r{number}") for number in range(count)]


def stored(url: str, sent: list[dict[str, Any]], **settings: Any) -> None:
    with serving(url, **settings) as client:
        for body in sent:
            assert client.post("/add", json=body).status_code == 200


def test_facts_are_those_of_the_add(tmp_path: Path, new_database: Callable[..., str], provider: StandIn) -> None:
    with_model, without = new_database(), new_database()
    stored(
        with_model, bodies(), llm_mode="best_effort", llm_base_url=provider.base_url, llm_retries=0, fact_keys=True
    )
    stored(without, bodies())
    calls = provider.calls["chat"]
    done = pgrecall(tmp_path, "extract", "--missing", PGRECALL_DATABASE_URL=without, **model(provider))
    assert done.returncode == 0, done.stdout + done.stderr
    assert provider.calls["chat"] == 2 * calls
    assert len(facts(without)) > 6
    for statement in (STATES, USERS, SPELLINGS):
        assert rows(without, statement) == rows(with_model, statement)
    assert facts(without) == facts(with_model)
    assert rows(without, "SELECT DISTINCT extraction, extraction_reason FROM requests") == [("done", None)]
    again = pgrecall(tmp_path, "extract", "--missing", PGRECALL_DATABASE_URL=without, **model(provider))
    assert again.returncode == 0
    assert provider.calls["chat"] == 2 * calls


def test_what_is_forgotten_is_not_shown_to_the_model(
    tmp_path: Path, new_database: Callable[..., str], provider: StandIn
) -> None:
    url = new_database()
    with serving(url) as client:
        client.post("/add", json=add_body("ana", "It rains.", "The code is 4711.", "I moved."))
        found = client.post("/search", json={"user_id": "ana", "query": "code 4711", "top_k": 9}).json()["data"]
        (secret,) = [one["id"] for one in found if "4711" in one["content"]]
        client.post("/forget", json={"user_id": "ana", "ids": [secret]})
    done = pgrecall(tmp_path, "extract", "--missing", PGRECALL_DATABASE_URL=url, **model(provider))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4711" not in json.dumps(list(provider.bodies["chat"]))
    assert len(facts(url)) == 2


def test_dry_run_counts_and_asks_nobody(
    tmp_path: Path, new_database: Callable[..., str], provider: StandIn
) -> None:
    url = new_database()
    stored(url, bodies())
    prices = ("--input-price", "1000", "--output-price", "1000")
    done = pgrecall(
        tmp_path, "extract", "--missing", "--dry-run", *prices, PGRECALL_DATABASE_URL=url, **model(provider)
    )
    assert "6 calls" in done.stdout
    assert "at most 14400 answered" in done.stdout
    assert provider.calls["chat"] == 0


def test_money_stops_it_in_time_and_the_next_run_goes_on(
    tmp_path: Path, new_database: Callable[..., str], provider: StandIn
) -> None:
    url = new_database()
    stored(url, bodies())
    prices = ("--input-price", "1000", "--output-price", "1000")  # a call may cost some 3 dollars
    few = {"PGRECALL_LLM_CONCURRENCY": "2"}
    run = ("extract", "--missing", *prices)
    first = pgrecall(tmp_path, *run, "--max-usd", "6", PGRECALL_DATABASE_URL=url, **model(provider), **few)
    assert first.returncode == 1, first.stdout + first.stderr
    assert "stopped before more was spent" in first.stdout
    some = provider.calls["chat"]
    assert 0 < some < 6
    assert rows(url, "SELECT count(*) FROM requests WHERE extraction = 'done'") == [(some,)]
    second = pgrecall(tmp_path, *run, PGRECALL_DATABASE_URL=url, **model(provider), **few)
    assert second.returncode == 0
    assert provider.calls["chat"] == 6


def test_failure_is_tried_three_times_and_made_up_for_later(
    tmp_path: Path, new_database: Callable[..., str], provider: StandIn
) -> None:
    url = new_database()
    stored(url, bodies(1))
    provider.misbehave("chat", "status", status=500, times=3)
    first = pgrecall(tmp_path, "extract", "--missing", PGRECALL_DATABASE_URL=url, **model(provider))
    assert first.returncode == 1
    assert provider.calls["chat"] == 3
    assert rows(url, "SELECT extraction, extraction_reason FROM requests")[0][0] == "failed"
    provider.misbehave("chat", "status", status=500, times=2)
    second = pgrecall(tmp_path, "extract", "--missing", PGRECALL_DATABASE_URL=url, **model(provider))
    assert second.returncode == 0, second.stdout + second.stderr
    assert rows(url, "SELECT extraction FROM requests") == [("done",)]
    assert facts(url)


def test_it_says_what_is_missing_before_anything_starts(tmp_path: Path, provider: StandIn) -> None:
    assert "No language model is set" in pgrecall(tmp_path, "extract", "--missing").stderr
    without_price = pgrecall(tmp_path, "extract", "--missing", "--max-usd", "5", **model(provider))
    assert without_price.returncode == 1
    assert "--max-usd needs prices" in without_price.stderr
