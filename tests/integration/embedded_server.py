"""Child processes that hold the embedded Postgres, and can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from pgrecall.embedded.locks import FileLock

SERVER = """
import os, pwd, sys
from pathlib import Path
from pgrecall.embedded import EmbeddedPostgres
if user := sys.argv[2]:  # only now: Python itself may lie where that user cannot read it
    os.setgroups([])
    os.setgid(pwd.getpwnam(user).pw_gid)
    os.setuid(pwd.getpwnam(user).pw_uid)
with EmbeddedPostgres(Path(sys.argv[1]), wait=30) as postgres:
    print(postgres.url, flush=True)
    for _ in sys.stdin:
        print(postgres.ensure_running(), flush=True)
"""


class Server:
    """A process that holds the embedded Postgres until it is stopped or killed."""

    def __init__(self, data_dir: Path, user: str = "", **environment: str) -> None:
        self.data_dir = data_dir
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, os.fspath(data_dir), user],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._url = ""

    @property
    def url(self) -> str:
        if not self._url:
            assert self._process.stdout is not None
            self._url = self._process.stdout.readline().strip()
            if not self._url:
                pytest.fail(self._process.communicate(timeout=30)[1])
        return self._url

    def ensure_running(self) -> bool:
        assert self.url
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._process.stdout.readline() == "True\n"

    def stop(self) -> None:
        _, errors = self._process.communicate(timeout=60)
        assert self._process.returncode == 0, errors

    def refusal(self) -> str:
        """What a server that did not start said."""
        _, errors = self._process.communicate(timeout=60)
        assert self._process.returncode == 1
        return errors

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def query(self, statement: LiteralString) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def postgres_lives(data_dir: Path) -> bool:
    with FileLock(data_dir / "postgres.lock") as lock:
        return not lock.alone()
