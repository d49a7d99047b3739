"""One Postgres over a data directory, shared by every pgrecall server on it.

Who lives is told by locks, never by process ids, which go stale and are given to others:

- `starting.lock` is held while a server starts or stops Postgres;
- `servers.lock` is held, shared, by each server: who gets it alone is the last one;
- `postgres.lock` is inherited by Postgres and all its processes: free means that none is left.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import platformdirs

from pgrecall.deadline import Deadline
from pgrecall.embedded import account as accounts
from pgrecall.embedded import cluster as clusters
from pgrecall.embedded.locks import FileLock
from pgrecall.embedded.postmaster import Postmaster, socket_directory
from pgrecall.errors import StartRefused

POLL = 0.05
"""Seconds between two looks."""


class EmbeddedPostgres:
    """Every method may be called from any thread.

    `wait`: seconds to wait for recovery, for other servers that start or stop, and for the end of Postgres.
    """

    def __init__(self, data_dir: Path | None, *, wait: float = 60.0) -> None:
        """`data_dir` None: /var/lib/pgrecall for root, else the user's own directory for data."""
        if sys.platform == "win32":
            raise StartRefused(
                "The embedded Postgres runs on Linux and macOS only",
                "Set PGRECALL_DATABASE_URL to a Postgres with pgvector.",
            )
        self.data_dir = (data_dir or _default_data_dir()).expanduser().resolve()
        self._wait = wait
        self._guard = threading.Lock()
        self._postmaster: Postmaster | None = None
        self._servers: FileLock | None = None  # held while this server lives

    @property
    def url(self) -> str:
        """postgresql:// over the unix socket; once started."""
        if self._postmaster is None:
            raise RuntimeError("the embedded Postgres has not been started")
        return self._postmaster.url

    def start(self) -> None:
        """Make the data if there are none, start Postgres or join the one that runs. Raises StartRefused."""
        with self._guard, accounts.refusing_os_errors():
            clusters.check_data_dir(self.data_dir)
            accounts.make_data_dir(self.data_dir)
            deadline = Deadline(self._wait)
            with self._starting(deadline):
                self._postmaster = self._prepare()
                self._servers = FileLock(self.data_dir / "servers.lock")
                try:
                    self._servers.shared()  # nobody holds it alone but under starting.lock
                    self._bring_up(self._postmaster, deadline)
                except BaseException:
                    self._leave()
                    raise

    def ensure_running(self) -> bool:
        """Restart Postgres if it died; True if it had to. Costs one connection to the socket when it lives.

        Raises StartRefused if the restart failed; the next call tries again.
        """
        with self._guard, accounts.refusing_os_errors():
            if self._servers is None or self._postmaster is None:
                return False
            clusters.prune_log(self._postmaster.log)
            if self._postmaster.listening():
                return False
            deadline = Deadline(self._wait)
            with self._starting(deadline):
                return self._bring_up(self._postmaster, deadline)

    def stop(self) -> None:
        """Leave; the last server to leave stops Postgres (in fast mode: open transactions roll back).

        Raises StartRefused if another server has been starting all the while: it keeps Postgres.
        """
        with self._guard, accounts.refusing_os_errors():
            if self._servers is None or self._postmaster is None:
                return
            deadline = Deadline(self._wait)
            try:
                with self._starting(deadline):
                    if self._servers.alone() and self._postmaster.listening():
                        self._shut_down(self._postmaster, deadline)
            finally:
                self._leave()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _prepare(self) -> Postmaster:
        """Account, binaries, directories and data, made where they are missing. Under starting.lock."""
        cluster, log = self.data_dir / "postgres", self.data_dir / "log"
        account = accounts.account_for(self.data_dir, cluster)
        accounts.check_reachable(account, self.data_dir)
        binaries = accounts.binaries_for(account, self.data_dir)
        sockets = socket_directory(self.data_dir, account.uid)
        account.private_directory(log)
        account.private_directory(sockets)
        if not clusters.check_cluster(cluster, account, binaries):
            clusters.create_cluster(cluster, account, binaries)
        return Postmaster(account, binaries, cluster, sockets, log)

    def _bring_up(self, postmaster: Postmaster, deadline: Deadline) -> bool:
        """Until Postgres takes connections; True if it was launched here. Under starting.lock."""
        launched = False
        while True:
            if postmaster.listening():
                if postmaster.ready():
                    return launched
            else:
                with FileLock(self.data_dir / "postgres.lock") as nobody_left:
                    if nobody_left.alone():
                        if launched:
                            _check_may_retry(postmaster)
                        postmaster.launch(nobody_left.descriptor)
                        launched = True
            if deadline.left == 0:
                raise self._too_slow(postmaster)
            time.sleep(POLL)

    def _too_slow(self, postmaster: Postmaster) -> StartRefused:
        if postmaster.listening():
            return StartRefused(
                f"Postgres took no connections for {self._wait:g} s: it may be recovering, and goes on",
                f"Start pgrecall again in a while: it joins that Postgres. Its log is in {postmaster.log}.",
            )
        return StartRefused(
            f"A Postgres over {self.data_dir} lives, but none listens in {postmaster.sockets}",
            "Stop the other pgrecall servers on it, then the Postgres processes that are left.",
        )

    def _shut_down(self, postmaster: Postmaster, deadline: Deadline) -> None:
        """A last checkpoint that outlasts the deadline goes on by itself."""
        postmaster.interrupt()
        while deadline.left > 0:
            with FileLock(self.data_dir / "postgres.lock") as nobody_left:
                if nobody_left.alone():
                    return
            time.sleep(POLL)

    @contextlib.contextmanager
    def _starting(self, deadline: Deadline) -> Iterator[None]:
        """Hold starting.lock. Raises StartRefused when others hold it to the deadline."""
        with FileLock(self.data_dir / "starting.lock") as lock:
            while not lock.alone():
                if deadline.left == 0:
                    raise StartRefused(
                        f"Another server was starting or stopping in {self.data_dir} for {self._wait:g} s",
                        f"Try again when it is done. The log of Postgres is in {self.data_dir / 'log'}.",
                    )
                time.sleep(POLL)
            yield

    def _leave(self) -> None:
        if self._servers is not None:
            self._servers.close()
            self._servers = None


def _check_may_retry(postmaster: Postmaster) -> None:
    """Raises StartRefused, unless Postgres ended over shared memory that is on its way out."""
    failure = clusters.last_failure(postmaster.log)
    if "still in use" not in failure:
        raise StartRefused(
            f"Postgres did not start: {failure}",
            f"Its log is in {postmaster.log}, its settings are in {postmaster.cluster}.",
        )


def _default_data_dir() -> Path:
    return Path("/var/lib/pgrecall") if os.geteuid() == 0 else platformdirs.user_data_path("pgrecall")
