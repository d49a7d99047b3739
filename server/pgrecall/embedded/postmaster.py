"""The postmaster, the process that is Postgres to the outside: asked, launched, stopped."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pgrecall.embedded import cluster as clusters
from pgrecall.embedded.account import Account

SOCKET = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+ -]+")
"""Paths that need no quoting in postgresql.conf; a comma would even make two of one to libpq."""


@dataclass(frozen=True, slots=True)
class Postmaster:
    """Where it lives. Whether it runs is asked anew each time."""

    account: Account
    binaries: Path
    cluster: Path
    sockets: Path
    log: Path

    @property
    def url(self) -> str:
        """A URI for libpq and for SQLAlchemy, over the unix socket."""
        host = quote(os.fsencode(self.sockets), safe="")
        return f"postgresql://{clusters.NAME}@/{clusters.NAME}?host={host}&port=5432"

    def listening(self) -> bool:
        """Does it live? Its children, which outlive it for a moment, do not listen."""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            try:
                probe.connect(os.fspath(self.sockets / SOCKET))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            except (BlockingIOError, TimeoutError):
                return True  # too busy to take the connection: alive
        return True

    def ready(self) -> bool:
        """Does it take connections? Not while it recovers or shuts down."""
        options = [f"--host={self.sockets}", "--port=5432", f"--username={clusters.NAME}"]
        options += [f"--dbname={clusters.NAME}", "--quiet"]
        return self.account.run(self.binaries / "pg_isready", *options).returncode == 0

    def launch(self, lock: int) -> None:
        """Start it, which inherits the descriptor `lock` and no other. No process of Postgres may be left:
        then the files that name a process are stale, and that id may be anybody's by now."""
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        (self.sockets / f"{SOCKET}.lock").unlink(missing_ok=True)
        clusters.write_configuration(self.cluster, self.sockets)
        # The shell leaves its child to process 1. (pg_ctl would paste the paths into a shell's command
        # line, unescaped, and wait no longer than it was told at the start.)
        script = '"$0" -D "$1" </dev/null >"$2" 2>&1 &'
        files = (self.binaries / "postgres", self.cluster, self.log / "launch.log")
        self.account.run("/bin/sh", "-c", script, *files, detach=True, pass_fds=(lock,))

    def interrupt(self) -> None:
        """Ask for a fast shutdown. Only while it listens: then the id in postmaster.pid is its own."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it ended this very moment
            os.kill(int((self.cluster / "postmaster.pid").read_text().split()[0]), signal.SIGINT)


def socket_directory(data_dir: Path, uid: int) -> Path:
    """In the data directory, unless no socket's name can be so long, or so odd. Then in /tmp, whatever
    TMPDIR says: every server on the data must find it."""
    inside = data_dir / "socket"
    if len(os.fsencode(inside / SOCKET)) <= SOCKET_PATH_BYTES and PLAIN_PATH.fullmatch(os.fspath(inside)):
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()
    return Path("/tmp") / f"pgrecall-{uid}-{digest[:16]}"  # noqa: S108 - made private, its owner checked
