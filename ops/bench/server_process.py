"""A pgrecall server as a child process: started, watched, killed. Linux: processes are found in /proc."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import httpx2

START_SECONDS = 60.0
"""How long a start may take, recovery included."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """`pgrecall serve` with `settings` (database_url="..." for PGRECALL_DATABASE_URL) and no other setting of
    the environment; what it prints goes to a file in `place`, which is also its working directory."""

    def __init__(self, place: Path, **settings: str) -> None:
        self.place = place
        self._settings = {f"PGRECALL_{name.upper()}": value for name, value in settings.items()}
        self.output = place / f"server-{free_port()}.log"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def launch(self) -> None:
        """Start it on a port of its own; returns at once."""
        self.port = self.port or free_port()
        own = ("PGRECALL_", "OPENAI_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pgrecall", "serve", "--port", str(self.port)],
                cwd=self.place,
                env=environment | self._settings,
                stdout=output,
                stderr=output,
            )

    def ready(self) -> None:
        """Wait until it answers. Raises RuntimeError with what it printed if it ends or takes too long."""
        assert self._process is not None
        until = time.monotonic() + START_SECONDS
        with httpx2.Client(base_url=self.url, timeout=5, trust_env=False) as client:
            while time.monotonic() < until and self._process.poll() is None:
                try:
                    if client.get("/health").json().get("database", "ok") == "ok":
                        return
                except httpx2.TransportError:
                    time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self.output.read_text()}")

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def __enter__(self) -> Self:
        self.launch()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()


def postgres_processes(data_dir: Path) -> list[int]:
    """The postmaster of an embedded data directory and all its children; none if it does not run."""
    try:
        postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, IndexError):
        return []
    alive = {pid: parent for pid, parent in parents() if postmaster in (pid, parent)}
    return sorted(alive, key=lambda pid: pid != postmaster)


def kill_postgres(data_dir: Path) -> None:
    """kill -9 of every process of the embedded Postgres, the postmaster first."""
    for pid in postgres_processes(data_dir):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # a child that ended meanwhile


def parents() -> list[tuple[int, int]]:
    """Every process with its parent."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                # "pid (name) state parent ...": the name may hold spaces and brackets.
                found.append((int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])))
            except OSError:
                continue  # it ended while we looked
    return found
