"""`pgrecall import`, as a process: what it takes, what it says, and that a kill loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.integration.commands import pgrecall
from tests.running import add_body, serving


@pytest.fixture
def url(new_database: Callable[..., str]) -> str:
    return new_database()


def written(path: Path, *lines: Any) -> str:
    """A file of these lines: text as it is, anything else as JSON."""
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def contents(url: str) -> list[tuple[str, str, int, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT user_id, session_id, turn_index, content FROM messages ORDER BY user_id, n"
        ).fetchall()


def test_lines_that_cannot_be_taken_are_named_and_the_others_go_on(tmp_path: Path, url: str) -> None:
    secret = "my password is swordfish"
    file = written(
        tmp_path / "lines",
        add_body("ana", "one", request="r1"),
        '{"request_id": "r2", "content',
        "",
        {"request_id": "r3", "user_id": "ana", "messages": [{"content": secret}]},
        add_body("ana", secret, request="r1"),
        add_body("ana", "one", request="r1"),
        add_body("ana", "two", request="r4"),
        {"user_id": 7, "session_id": "s", "content": secret},
    )
    done = pgrecall(tmp_path, "import", file, PGRECALL_DATABASE_URL=url)
    assert done.returncode == 1
    assert [text for *_, text in contents(url)] == ["one", "two"]
    said = done.stdout
    assert "line 2: the line is not JSON" in said
    assert "line 4: session_id is missing" in said
    assert "line 5: this request_id is stored with another body" in said
    assert "line 8: user_id must be a non-empty string" in said
    assert "2 (2 messages)" in said
    assert "swordfish" not in done.stdout + done.stderr


def test_dry_run_counts_and_writes_nothing(tmp_path: Path, url: str) -> None:
    file = written(tmp_path / "lines", add_body("ana", "one", "two", request="r1"), "{")
    done = pgrecall(tmp_path, "import", file, "--dry-run", PGRECALL_DATABASE_URL=url)
    assert "would be added" in done.stdout
    assert "1 (2 messages)" in done.stdout
    assert "line 2" in done.stdout
    assert contents(url) == []


def test_plain_messages_become_requests_and_the_same_file_again_is_a_repeat(tmp_path: Path, url: str) -> None:
    said = [
        {"user_id": user, "session_id": session, "role": "user", "content": f"{user} {number}", "timestamp": number}
        for user, session in (("ana", "s1"), ("ben", "s1"), ("ana", "s1"), ("ana", "s2"))
        for number in range(1684591200, 1684591223)
    ]
    file = written(tmp_path / "lines", *said)
    first = pgrecall(tmp_path, "import", "-", answer=Path(file).read_text(), PGRECALL_DATABASE_URL=url)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "8 (92 messages)" in first.stdout  # 20 and 3 of each
    before = contents(url)
    assert [row[:3] for row in before if row[0] == "ana"] == [
        *(("ana", "s1", place) for place in range(46)),
        *(("ana", "s2", place) for place in range(23)),
    ]
    second = pgrecall(tmp_path, "import", file, PGRECALL_DATABASE_URL=url)
    assert second.returncode == 0
    assert "0 (0 messages)" in second.stdout
    assert contents(url) == before


def test_import_over_http_and_by_file_meet_as_repeats(tmp_path: Path, url: str) -> None:
    bodies = [add_body("ana", f"over http {number}", request=f"r{number}") for number in range(3)]
    with serving(url) as client:
        assert client.post("/add", json=bodies[1]).status_code == 200
        done = pgrecall(tmp_path, "import", written(tmp_path / "lines", *bodies), PGRECALL_DATABASE_URL=url)
        assert done.returncode == 0, done.stdout
        assert client.post("/add", json=bodies[2]).status_code == 200
        assert client.post("/add", json=bodies[2] | {"session_id": "other"}).status_code == 409
        found = client.post("/search", json={"user_id": "ana", "query": "http", "top_k": 10}).json()
    assert len(found["data"]) == 3


def test_killed_import_goes_on_where_it_was(tmp_path: Path, url: str) -> None:
    """kill -9 at three moments of it: nothing half stored, nothing twice, no process left."""
    bodies = [
        add_body(f"u{number % 3}", *(f"line {place} of {number}" for place in range(10)), request=f"r{number}")
        for number in range(1200)
    ]
    file = written(tmp_path / "lines", *bodies)
    partial = []
    for kill_at in (1, 2500, 6000):
        with subprocess.Popen(
            [sys.executable, "-m", "pgrecall", "import", file],
            cwd=tmp_path, env={**os.environ, "PGRECALL_DATABASE_URL": url},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        ) as process:  # fmt: skip
            until = time.monotonic() + 60
            while len(contents(url)) < kill_at and process.poll() is None and time.monotonic() < until:
                time.sleep(0.01)
            process.kill()
            process.wait()
            group = process.pid
        assert ended(group), "processes are left"
        partial.append(len(contents(url)))
        with psycopg.connect(url) as connection:
            broken = connection.execute(
                "SELECT count(*) FROM requests AS r WHERE message_count <>"
                " (SELECT count(*) FROM messages AS m WHERE m.user_id = r.user_id AND m.request_id = r.request_id)"
            ).fetchall()
        assert broken == [(0,)]
    assert 0 < partial[0] <= partial[1] <= partial[2] < 12_000
    done = pgrecall(tmp_path, "import", file, PGRECALL_DATABASE_URL=url)
    assert done.returncode == 0, done.stdout + done.stderr
    with psycopg.connect(url) as connection:
        numbers = connection.execute(
            "SELECT user_id, array_agg(n ORDER BY n) = array_agg(row - 1 ORDER BY row), count(DISTINCT turn_index)"
            " FROM (SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY n) AS row FROM messages) AS m"
            " GROUP BY user_id ORDER BY user_id"
        ).fetchall()
    assert numbers == [(f"u{number}", True, 4000) for number in range(3)]


def ended(group: int) -> bool:
    """Whether, soon, no process of the group is left."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return False
