"""`pgrecall import` against the same messages by 16 workers over HTTP, each into a database of its own.

    python -m ops.bench.imports --messages 20000 --rounds 3

The logs are made by gen.py: 2,000 messages for each of the users, Adds of up to 20, sessions side by side over HTTP
as an evaluator sends them. The databases lie in one embedded Postgres; the import's time is that of the whole
command, the start of Python included. Seconds of processors count what everyone did for it, Postgres and the caller
too: on a machine that is busy with other work they tell more than the clock. Rows are counted: both ways leave as
many.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import httpx2
import psycopg
import typer
from rich.console import Console
from rich.table import Table

from ops.bench.caller import Phase, call, work_off
from ops.bench.dataset import adds, load
from ops.bench.gen import written
from ops.bench.server_process import ServerProcess, postgres_processes
from pgrecall import migrating
from pgrecall.embedded import EmbeddedPostgres

LOG = 2000
"""Messages of one user."""
TABLES = ("users", "sessions", "requests", "messages", "terms", "spellings", "dates", "states")


def made(folder: Path, messages: int) -> list[dict[str, Any]]:
    """The bodies of all users, user after user."""
    for seed in range(max(1, messages // LOG)):
        text = written(min(LOG, messages), 20, seed)
        (folder / f"seed-{seed}.json").write_text(text, encoding="utf-8")
    return [body for one in load(folder) for session in one.sessions for body in adds(session, one.name)]


def database(postgres: EmbeddedPostgres, name: str) -> str:
    """The URL of a new, migrated database."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    url = postgres.url.replace("/pgrecall?", f"/{name}?")
    migrating.upgrade(url, "public")
    return url


async def sent(url: str, bodies: list[dict[str, Any]], workers: int) -> float:
    """Seconds for all Adds over HTTP: sessions side by side, the Adds of one in order. Raises CallFailed."""
    sessions: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for body in bodies:
        sessions[body["user_id"], body["session_id"]].append(body)
    phase = Phase()
    async with httpx2.AsyncClient(base_url=url, timeout=110, trust_env=False) as client:

        async def session(own: list[dict[str, Any]]) -> None:
            for body in own:
                await call(client, "/add", body, phase)

        with phase.timed():
            await work_off([partial(session, own) for own in sessions.values()], workers)
    return phase.seconds


def imported(url: str, file: Path, place: Path) -> float:
    """Seconds of the command. Raises CalledProcessError."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PGRECALL_")}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pgrecall", "import", str(file)],
        cwd=place,
        env=own | {"PGRECALL_DATABASE_URL": url},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def counted(url: str) -> dict[str, int]:
    """Rows of each table."""
    with psycopg.connect(url) as connection:
        found = [connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0][0] for name in TABLES]
    return dict(zip(TABLES, found, strict=True))


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds by the clock, and of processors."""

    clock: float
    processors: float


def postgres_seconds(data_dir: Path) -> float:
    """Seconds of processors of the Postgres at `data_dir`."""
    ticks = 0
    for number, pid in enumerate(postgres_processes(data_dir)):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue  # it ended while we looked
        ticks += sum(map(int, fields[11:15] if number == 0 else fields[11:13]))  # the first has buried the ended
    return ticks / os.sysconf("SC_CLK_TCK")


def spent(data_dir: Path) -> float:
    """Seconds of processors: of this process, of its children that have ended, of the Postgres at `data_dir`."""
    return sum(os.times()[:4]) + postgres_seconds(data_dir)


def compared(place: Path, bodies: list[dict[str, Any]], workers: int, rounds: int) -> list[tuple[Taken, Taken]]:
    """Over HTTP and imported, in turn. Raises RuntimeError where the two do not hold the same number of rows."""
    file = place / "bodies.jsonl"
    file.write_text("".join(json.dumps(body) + "\n" for body in bodies))
    taken = []
    with EmbeddedPostgres(place / "data") as postgres:
        for number in range(rounds):
            one, other = database(postgres, f"over_http_{number}"), database(postgres, f"imported_{number}")
            before = spent(place / "data")
            with ServerProcess(place, database_url=one) as server:
                server.ready()
                over_http = asyncio.run(sent(server.url, bodies, workers))
            between = spent(place / "data")
            seconds = imported(other, file, place)
            after = spent(place / "data")
            taken.append((Taken(over_http, between - before), Taken(seconds, after - between)))
            if (rows := counted(one)) != (others := counted(other)):
                raise RuntimeError(f"the rows differ: {rows} against {others}")
    return taken


def main(
    messages: Annotated[int, typer.Option(min=20, help="in all, of users of 2,000 each")] = 20_000,
    workers: Annotated[int, typer.Option(min=1, help="calls at once over HTTP")] = 16,
    rounds: Annotated[int, typer.Option(min=1, help="each way in turn; medians are printed")] = 3,
) -> None:
    """The server's start is no part of the time over HTTP; it is of the seconds of processors."""
    with tempfile.TemporaryDirectory(prefix="pgrecall-imports-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "logs").mkdir()
        bodies = made(place / "logs", messages)
        taken = compared(place, bodies, workers, rounds)
    total = sum(len(body["messages"]) for body in bodies)
    table = Table(
        "", "over HTTP", "import", "ratio", title=f"{total} messages, {len(bodies)} Adds, {rounds} rounds"
    )
    for what in ("clock", "processors"):
        pairs = [(getattr(one, what), getattr(other, what)) for one, other in taken]
        first, second, ratio = (median(column) for column in (*zip(*pairs, strict=True), [a / b for a, b in pairs]))
        table.add_row(f"seconds ({what})", f"{first:.1f}", f"{second:.1f}", f"{ratio:.2f}")
        if what == "clock":
            table.add_row("messages a second", f"{total / first:.0f}", f"{total / second:.0f}", "")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
