"""The files of the embedded Postgres: making them, checking them, and its configuration."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from pgrecall.embedded.account import ELSEWHERE, Account
from pgrecall.errors import StartRefused

NAME = "pgrecall"
"""Of the database, and of its superuser."""

OURS = {"starting", "servers", "postgres", "socket", "log", "lost+found"}
"""What stands in a data directory, up to the first dot; and `binaries-<version>`."""

LOG_SIZE_MB, LOGS_KEPT = 10, 5

CONFIGURATION = """\
# Written by pgrecall at each start of Postgres. Settings of your own belong into custom.conf, beside this
# file: it is read after this one.

# Reached only through a socket in a directory closed to everybody else.
listen_addresses = ''
port = 5432
unix_socket_directories = '{socket}'
max_connections = 200

# What was answered is on disk. These are the defaults; `pgrecall check` says so when one is off.
fsync = on
full_page_writes = on
synchronous_commit = on

# A quarter of the memory, from 128 MB to 2 GB.
shared_buffers = {shared_buffers}MB
huge_pages = try
max_wal_size = 2GB
random_page_cost = 1.1
jit = off
timezone = 'UTC'
log_timezone = 'UTC'

# The log never holds what users said: no statement, no parameter, no DETAIL; and no error of a statement,
# whose message may quote a value: the server that sent it is told (`log` ranks above `error`).
logging_collector = on
log_directory = '../log'
log_filename = 'postgres-%Y%m%d-%H%M%S.log'
log_rotation_size = {log_size}MB
log_rotation_age = 0
log_min_messages = log
log_min_error_statement = panic
log_statement = none
log_parameter_max_length = 0
log_parameter_max_length_on_error = 0
log_error_verbosity = terse
"""


def check_data_dir(data_dir: Path) -> None:
    """Raises StartRefused where `data_dir` is somebody else's, or cannot be named to Postgres."""
    name = os.fsencode(data_dir)
    if len(name) > 900 or b"\n" in name or b"\r" in name:  # Postgres cuts paths at 1,024 bytes
        raise StartRefused("The data directory's path is too long, or has a line break", ELSEWHERE)
    names = [path.name for path in data_dir.iterdir()] if data_dir.exists() else []
    strange = [n for n in names if n.split(".")[0] not in {*OURS, ""} and not n.startswith("binaries-")]
    if strange and "postgres" not in names:
        raise StartRefused(
            f"{data_dir} holds other things than the data of pgrecall",
            "Name an empty or a new directory in PGRECALL_DATA_DIR.",
        )


def check_cluster(cluster: Path, account: Account, binaries: Path) -> bool:
    """True if data of these binaries' major version are there, False if there are none yet. Else, and
    where they belong to another account, StartRefused."""
    if not cluster.exists() or not any(cluster.iterdir()):
        return False
    if not (cluster / "PG_VERSION").is_file():
        raise StartRefused(f"{cluster} is not empty, and holds no Postgres", ELSEWHERE)
    if cluster.stat().st_uid != account.uid:
        raise StartRefused(f"{cluster} does not belong to the account with uid {account.uid}", ELSEWHERE)
    version = account.run(binaries / "postgres", "--version").stdout  # "postgres (PostgreSQL) 18.6"
    major = version.split()[-1].split(".")[0]
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != major:
        raise StartRefused(
            f"{cluster} was made by Postgres {found}; this pgrecall brings {major}",
            f"Install the pgrecall that made it, or move the data with pg_dump and pg_restore. {ELSEWHERE}",
        )
    return True


def create_cluster(cluster: Path, account: Account, binaries: Path) -> None:
    """initdb and the database, under another name until all is on disk: a kill leaves no half of it."""
    unfinished = cluster.with_name(f"{cluster.name}.unfinished")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    account.private_directory(unfinished)
    # Over TCP nobody gets in, even where custom.conf opens a port: pg_hba.conf is the operator's to change.
    options = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    options += [f"--username={NAME}", "--auth-local=trust", "--auth-host=reject", "--data-checksums"]
    made = account.run(binaries / "initdb", "-D", unfinished, *options)
    if made.returncode == 0:
        # Single-user mode: the database is there before anybody can connect.
        single = ["-c", "exit_on_error=true", "template1"]
        made = account.run(
            binaries / "postgres", "--single", "-D", unfinished, *single, text=f"CREATE DATABASE {NAME};\n"
        )
    if made.returncode != 0:
        lines = made.stderr.strip().splitlines() or ["no reason given"]
        raise StartRefused(f"initdb failed: {lines[-1]}", ELSEWHERE)
    includes = "\ninclude_if_exists = 'pgrecall.conf'\ninclude_if_exists = 'custom.conf'\n"
    with open(os.open(unfinished / "postgresql.conf", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW), "w") as file:
        file.write(includes)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(cluster)
    directory = os.open(cluster.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_configuration(cluster: Path, socket: Path) -> None:
    """Write pgrecall.conf anew. Postgres reads it; whoever starts it may own it: only a rename is needed."""
    quarter = machine_memory() // 4 // 2**20
    text = CONFIGURATION.format(socket=socket, shared_buffers=max(128, min(quarter, 2048)), log_size=LOG_SIZE_MB)
    new = cluster / "pgrecall.conf.new"
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        file.write(text)
        os.fchmod(file.fileno(), 0o644)  # whatever our umask: the directory is private
    new.replace(cluster / "pgrecall.conf")


def machine_memory() -> int:
    """Bytes of memory of this machine, or of this container where that is less."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            memory = min(memory, int(Path(limit).read_text()))
    return memory


def prune_log(log: Path) -> None:
    """Keep the newest files: Postgres starts a new one at LOG_SIZE_MB, and removes none."""
    for old in sorted(log.glob("postgres-*.log"))[:-LOGS_KEPT]:
        old.unlink(missing_ok=True)


def last_failure(log: Path) -> str:
    """Why Postgres ended, in its own words, from `launch.log` or the newest log after it."""
    for path in [log / "launch.log", *sorted(log.glob("postgres-*.log"), reverse=True)[:1]]:
        with contextlib.suppress(FileNotFoundError):
            lines = path.read_text(errors="replace").splitlines()
            failures = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
            if failures:
                return failures[-1]
    return "it gave no reason"
