"""The commands, as processes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.integration.commands import Serving, pgrecall
from tests.integration.embedded_server import postgres_lives, postmaster_pid
from tests.running import add_body, fresh


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """For embedded Postgres; under root in a directory that its account can enter."""
    place = Path(tempfile.mkdtemp(prefix="pgrecall-test-"))
    place.chmod(0o755)
    yield place / "data"
    shutil.rmtree(place)


def added(url: str, user: str) -> int:
    """The status of one Add."""
    return httpx2.post(f"{url}/add", json=add_body(user, "hello"), timeout=30, trust_env=False).status_code


def wait_until(what: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (holds := what()) and time.monotonic() < until:
        time.sleep(0.1)
    return holds


def refuses(url: str) -> bool:
    """Nobody listens there any more."""
    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


def test_embedded_server_survives_the_death_of_postgres_and_takes_it_along(data_dir: Path, tmp_path: Path) -> None:
    with Serving(tmp_path, PGRECALL_DATA_DIR=str(data_dir)) as server:
        assert f"the embedded Postgres; the data lie in {data_dir}" in server.output()
        user = fresh("user")
        assert added(server.url, user) == 200
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        assert wait_until(lambda: added(server.url, user) == 200, 15)
        assert "it is back, and has recovered" in server.output()
        assert server.stop(signal.SIGINT) == 0
        assert "Traceback" not in server.output()
    assert not postgres_lives(data_dir)
    checked = pgrecall(tmp_path, "check", PGRECALL_DATA_DIR=str(data_dir))
    assert checked.returncode == 0, checked.stdout
    assert {line[0] for line in checked.stdout.splitlines()} == {"✓"}
    assert not postgres_lives(data_dir)


def test_smoke_holds_against_a_running_server_and_fails_without_one(database: str, tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    access = {"PGRECALL_AUTH_SCHEME": "bearer", "PGRECALL_AUTH_TOKEN": secret}
    with Serving(tmp_path, PGRECALL_DATABASE_URL=database, **access) as server:
        smoked = pgrecall(tmp_path, "smoke", server.url, **access)
        assert smoked.returncode == 0, smoked.stdout
        assert "checks hold" in smoked.stdout
        assert server.stop() == 0
    assert secret not in server.output() + smoked.stdout + smoked.stderr
    assert "Traceback" not in server.output()
    gone = pgrecall(tmp_path, "smoke", server.url)
    assert gone.returncode == 1
    assert "no server answers" in gone.stdout


def test_several_processes_end_with_the_one_that_started_them(database: str, tmp_path: Path) -> None:
    with Serving(tmp_path, "--workers", "2", PGRECALL_DATABASE_URL=database) as server:
        assert added(server.url, fresh("user")) == 200
        server.stop(signal.SIGKILL)
        assert wait_until(lambda: refuses(server.url), 15)


def test_several_processes_stop_at_a_signal(database: str, tmp_path: Path) -> None:
    with Serving(tmp_path, "--workers", "2", PGRECALL_DATABASE_URL=database) as server:
        assert server.stop() == 0
        assert refuses(server.url)
    assert "Traceback" not in server.output()


def test_taken_port_is_told_in_two_lines_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = pgrecall(
            tmp_path, "serve", "--port", str(port), PGRECALL_DATA_DIR=str(tmp_path / "data"),
        )  # fmt: skip
    assert refused.returncode == 1
    assert refused.stdout == ""
    reason, remedy = refused.stderr.splitlines()
    assert reason == f"✗ Port {port} on 127.0.0.1 is taken."
    assert "--port" in remedy
    assert not (tmp_path / "data").exists()


def test_managed_database_is_migrated_when_asked_and_never_by_itself(
    new_database: Callable[..., str], tmp_path: Path
) -> None:
    managed = {"PGRECALL_DATABASE_URL": new_database(migrated=False)}
    refused = pgrecall(tmp_path, "serve", "--port", "0", **managed)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[1] == "  Run: pgrecall migrate"
    failing = pgrecall(tmp_path, "check", **managed)
    assert failing.returncode == 1
    assert "→ Run: pgrecall migrate" in failing.stdout
    assert max(map(len, failing.stdout.splitlines())) <= 80

    assert pgrecall(tmp_path, "migrate", **managed).returncode == 0

    back = ("migrate", "--to", "base")
    assert pgrecall(tmp_path, *back, answer="n\n", **managed).returncode == 1
    with psycopg.connect(managed["PGRECALL_DATABASE_URL"]) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    assert pgrecall(tmp_path, *back, answer="y\n", **managed).returncode == 0
    with Serving(tmp_path, PGRECALL_MIGRATE_ON_START="true", **managed) as server:
        assert added(server.url, fresh("user")) == 200


def test_unknown_revision_is_told_in_two_lines(tmp_path: Path) -> None:
    refused = pgrecall(tmp_path, "migrate", "--to", "9999")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 2


def test_long_remedy_is_wrapped_and_not_cut(new_database: Callable[..., str], tmp_path: Path) -> None:
    filled = {"PGRECALL_DATABASE_URL": new_database(), "PGRECALL_EMBED_BACKEND": "openai"}
    # A port where nobody listens: the provider's failure is a finding as well.
    checked = pgrecall(tmp_path, "check", PGRECALL_EMBED_BASE_URL="http://127.0.0.1:9/v1", **filled)
    assert checked.returncode == 1
    assert max(map(len, checked.stdout.splitlines())) <= 80
    said = " ".join(checked.stdout.split())
    assert "Start on an empty database (another PGRECALL_DATABASE_URL or PGRECALL_DATA_DIR)," in said
    assert "✗ embedder" in said


def test_settings_are_printed_a_line_each_without_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PGRECALL_LLM_MODEL='[red]odd[/]'\nPGRECALL_AUTH_TOKEN=hunter2\n")
    odd = {"PGRECALL_DATABASE_URL": "postgres://app:hunter2@db/m", "PGRECALL_PORT": "tcp://10.0.0.1:1"}
    printed = pgrecall(tmp_path, "settings", **odd)
    assert printed.returncode == 0
    assert "hunter2" not in printed.stdout + printed.stderr
    lines = {line.split()[0]: line.split()[1:] for line in printed.stdout.splitlines()}
    assert lines["PGRECALL_DATABASE_URL"][0] == "postgres://app:***@db/m"
    assert lines["PGRECALL_LLM_MODEL"][0] == "[red]odd[/]"
    assert lines["PGRECALL_PORT"][0] == "8000"
    assert printed.stderr.startswith("! Ignored PGRECALL_PORT: ")
