"""Servers as processes of their own: two on one database, and what a kill leaves behind."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import httpx2
import pytest

from ops.bench.crash import Crash, Round, crash
from ops.bench.provider import StandIn
from ops.bench.replies import Drawn, note_each
from ops.bench.server_process import ServerProcess
from ops.bench.wholeness import losses
from pgrecall import cli
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.errors import StartRefused
from pgrecall.serving import own_command
from tests.api.calling import rows
from tests.running import add_body, serving

MARKER = "quicksilver"
REQUESTS, RETRIES = 40, 16


@pytest.fixture(scope="module")
def standing_in() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.fixture
def provider(standing_in: StandIn) -> StandIn:
    standing_in.behave()
    standing_in.facts_from(note_each)
    return standing_in


@pytest.fixture(scope="module")
def two_servers(
    new_database: Callable[..., str], standing_in: StandIn, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ServerProcess, ServerProcess]]:
    """A database, and two server processes on it that draw facts."""
    url = new_database()
    settings = {"database_url": url, "llm_mode": "required", "llm_base_url": standing_in.base_url}
    settings["llm_api_key"] = f"key-{MARKER}"
    tmp_path = tmp_path_factory.mktemp("servers")
    with ServerProcess(tmp_path, **settings) as one, ServerProcess(tmp_path, **settings) as other:
        one.ready()
        other.ready()
        yield url, one, other


def a_word_each_call() -> Callable[[list[str]], Drawn]:
    """Facts that name, by a word of its own, the reply they came in."""
    words = ("".join(letters) for letters in itertools.product(string.ascii_lowercase, repeat=3))

    def draw(lines: list[str]) -> Drawn:
        word = next(words)
        return [(f"i wrote {place} in reply {word}", [1]) for place in ("one", "two", "three")]

    return draw


async def overlapping(urls: list[str], bodies: list[dict[str, Any]]) -> list[int]:
    """The statuses of RETRIES calls of each body, all under way at once, in turn to each server."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=60, trust_env=False, limits=limits) as client:
        calls = [
            client.post(f"{urls[attempt % len(urls)]}/add", json=body)
            for body in bodies
            for attempt in range(RETRIES)
        ]
        return [response.status_code for response in await asyncio.gather(*calls)]


async def test_overlapping_retries_to_two_processes_store_each_request_once_and_mix_none(
    two_servers: tuple[str, ServerProcess, ServerProcess], provider: StandIn
) -> None:
    url, one, other = two_servers
    provider.facts_from(a_word_each_call())
    provider.misbehave("chat", "slow", seconds=0.5)
    bodies = [
        add_body(f"user-{number % 5}", f"Line {number} of {MARKER}", "and more", session=f"s-{number % 3}")
        for number in range(REQUESTS)
    ]
    statuses = await overlapping([one.url, other.url], bodies)
    assert statuses == [200] * REQUESTS * RETRIES
    assert list(losses(url, bodies)) == []
    assert rows(url, "SELECT count(*), sum(message_count), sum(fact_count) FROM requests") == [
        (REQUESTS, 2 * REQUESTS, 3 * REQUESTS)
    ]
    # Both processes may have paid for a request; what is kept of it comes from one reply.
    assert REQUESTS <= provider.calls["chat"] <= 2 * REQUESTS
    replies = rows(
        url,
        """SELECT count(DISTINCT split_part(content, ' reply ', 2)), count(DISTINCT content), count(*)
           FROM facts GROUP BY user_id, request_id""",
    )
    assert replies == [(1, 3, 3)] * REQUESTS


async def test_what_was_said_and_the_secrets_stand_in_no_output_of_a_failing_server(
    two_servers: tuple[str, ServerProcess, ServerProcess], provider: StandIn
) -> None:
    _, one, _ = two_servers
    provider.misbehave("chat", "status", status=500)
    body = add_body(f"{MARKER}-user", f"My {MARKER} is blue", request=f"{MARKER}-request")
    async with httpx2.AsyncClient(base_url=one.url, timeout=60, trust_env=False) as client:
        assert (await client.post("/add", json=body)).status_code == 503
        assert (await client.post("/search", json={"user_id": MARKER, "query": MARKER})).status_code == 503
        assert (await client.post("/add", json=body | {"session_id": None})).status_code == 422
        assert (await client.post(f"/{MARKER}?{MARKER}", json=body)).status_code == 404
    printed = one.output.read_text()
    assert "serving on" in printed
    assert MARKER not in printed


def test_the_command_that_the_start_suggests_works_where_the_server_was_started(
    database: str, tmp_path: Path
) -> None:
    access = {"host": "0.0.0.0", "auth_scheme": "none", "allow_open_access": "true"}
    with ServerProcess(tmp_path, database_url=database, **access) as server:
        server.ready()
        while (tried := re.search(r"^  try +(.*)$", server.output.read_text(), re.MULTILINE)) is None:
            time.sleep(0.05)
        assert tried[1].endswith(f"-m pgrecall smoke http://127.0.0.1:{server.port}")
        done = subprocess.run(tried[1], shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        (".venv/bin/pgrecall", ".venv/bin/pgrecall"),
        ("{here}/.venv/bin/pgrecall", ".venv/bin/pgrecall"),
        ("{here}/on path/pgrecall", "pgrecall"),
        ("/opt/an other/pgrecall", "'/opt/an other/pgrecall'"),
    ],
)
def test_the_command_is_shown_as_it_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, shown: str
) -> None:
    for folder in (".venv/bin", "on path"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pgrecall").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "on path"))
    monkeypatch.setattr(sys, "argv", [called.format(here=tmp_path), "serve"])
    assert own_command() == shown


def test_a_start_needs_no_signal_that_windows_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delattr(signal, "SIGHUP")
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(StartRefused, match="PGRECALL_AUTH_SCHEME"):
            cli.serve(host="0.0.0.0")
    finally:
        signal.signal(signal.SIGTERM, before)


def test_nothing_that_was_answered_is_lost_when_everything_is_killed() -> None:
    rounds: list[Round] = []
    crash(rounds=2, workers=8, seed=1, seen=rounds.append)
    assert [one.lost for one in rounds] == [[], []]
    assert all(one.answered for one in rounds)
    assert [one.way for one in rounds] == ["everything", "Postgres"]


def test_a_crash_run_that_goes_wrong_tells_where_its_data_stay() -> None:
    kept: list[Path] = []

    def fails(one: Round) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash(rounds=1, workers=2, seed=1, seen=fails, keeping=kept.append)
    (place,) = kept
    assert (place / "data").is_dir()
    shutil.rmtree(place)


class Forgetful(Crash):
    """Loses, between the restart and the look, every trace of an Add that was answered."""

    forgotten: dict[str, Any]

    def bring_back(self, one: Round) -> None:
        super().bring_back(one)
        self.forgotten = one.answered[0]
        with EmbeddedPostgres(self.data_dir) as postgres:
            for statement in FORGET:
                rows(postgres.url, statement, [self.forgotten["request_id"]])


FORGET: tuple[LiteralString, ...] = (
    "DELETE FROM facts WHERE request_id = %s RETURNING 1",
    "DELETE FROM messages WHERE request_id = %s RETURNING 1",
    "DELETE FROM requests WHERE request_id = %s RETURNING 1",
)


def test_a_crash_run_reports_an_answered_add_that_is_gone(provider: StandIn) -> None:
    place = Path(tempfile.mkdtemp(prefix="pgrecall-crash-"))
    place.chmod(0o755)
    running = Forgetful(place, provider, 2, random.Random(1))
    running.start()
    try:
        one = running.round("the server")
    finally:
        running.stop()
    loss = f"request {running.forgotten['request_id']}: answered 200, but not there as it was sent"
    assert loss in one.lost
    shutil.rmtree(place)


def test_a_loss_is_noticed(new_database: Callable[..., str]) -> None:
    body = add_body("someone", "I sail")
    assert list(losses(new_database(), [body])) == [
        f"request {body['request_id']}: answered 200, but not there as it was sent"
    ]


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("DELETE FROM messages WHERE position = 1", "requests stored by halves"),
        ("DELETE FROM facts", "requests stored by halves"),
        ("UPDATE messages SET turn_index = 7 WHERE position = 1", "turn_index"),
        ("UPDATE users SET next_n = next_n + 1", "gaps or doubles in n"),
        ("UPDATE messages SET content = 'I row' WHERE position = 1", "not there as it was sent"),
    ],
)
def test_damage_is_noticed(new_database: Callable[..., str], provider: StandIn, damage: Any, named: str) -> None:
    url = new_database()
    body = add_body("someone", "I sail", "I swim")
    with serving(url, llm_mode="required", llm_base_url=provider.base_url) as client:
        assert client.post("/add", json=body).status_code == 200
    assert list(losses(url, [body])) == []
    rows(url, f"WITH damage AS ({damage} RETURNING 1) SELECT count(*) FROM damage")
    assert any(named in loss for loss in losses(url, [body]))
