"""How Add and search grow: with one user's memories, and with all users' rows.

    python -m ops.bench.growth --memories 20000 --rows 100000 --picture GROWTH.svg

One user is added over HTTP, 20 messages an Add. At each size as many Adds and searches are measured for that user
as for users of 100 memories, in turn: the ratio of the two is of the same moment. Then copies of a user of 600 fill
the tables (fill.py), and a fresh user of 600 is measured at each size. Everything runs on a server and a Postgres
of its own in a new directory.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from rich.table import Table

from ops.bench import gen
from ops.bench.clustering import clustering
from ops.bench.dataset import Conversation, adds, load, parse
from ops.bench.fill import bytes_a_memory, copy_user
from ops.bench.growth_picture import drawn
from ops.bench.server_process import ServerProcess
from ops.bench.wire import Wire
from pgrecall.embedded import EmbeddedPostgres

SIZES = (1_000, 2_000, 5_000, 9_000, 20_000, 50_000, 100_000, 200_000)
ROWS = (10_000, 100_000, 300_000, 1_000_000)
PAIRS = 40
"""Adds, and searches, measured at each size for either user: the one that grows then has 800 memories more."""
ADDS_OF_SMALL = 5
"""Measured for one small user, before another takes its place: it has grown to 200."""
SMALL, TYPICAL = 100, 600
"""Memories of the user compared with, and of each user that fills the tables."""
SECONDS = 110.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians in ms at one size; `beside` are those of the small user, in turn with the others."""

    size: int
    add: float
    search: float
    add_beside: float
    search_beside: float


class User:
    """One log that is said bit by bit, and asked about. `name`: its id."""

    def __init__(self, name: str, messages: int, seed: int) -> None:
        self.name = name
        log: Conversation = parse(name, json.loads(gen.written(messages, min(100, messages // 10), seed)))
        self._bodies: Iterator[dict[str, Any]] = (body for session in log.sessions for body in adds(session, name))
        self._questions = [question.text for question in log.questions]
        self.memories = 0

    async def add(self, wire: Wire, count: int) -> list[float]:
        """The next `count` Adds, one after another; ms of each."""
        taken = []
        for body in islice(self._bodies, count):
            taken.append(await timed(wire, "/add", body))
            self.memories += len(body["messages"])
        return taken

    async def grow(self, wire: Wire, memories: int) -> None:
        """Add until it has that many."""
        while self.memories < memories and await self.add(wire, 1):
            pass

    async def search(self, wire: Wire, number: int) -> float:
        """ms of one search."""
        text = self._questions[number % len(self._questions)]
        return await timed(wire, "/search", {"user_id": self.name, "query": text, "top_k": 100})


async def timed(wire: Wire, path: str, body: dict[str, Any]) -> float:
    """ms of one call. Raises RuntimeError where it is not answered 200."""
    sent = json.dumps(body).encode()
    start = time.perf_counter()
    status, _ = await wire.post(path, sent, SECONDS)
    if status != 200:
        raise RuntimeError(f"{path} was answered {status}")
    return (time.perf_counter() - start) * 1000


async def measured(wire: Wire, user: User, size: int) -> Measured:
    """Of `user` at `size`, and of small users in turn with it."""
    found: list[list[float]] = [[], [], [], []]
    small = [User(f"small-{user.name}-{size}-{seed}", 400, seed) for seed in range(PAIRS // ADDS_OF_SMALL)]
    for one in small:
        await one.grow(wire, SMALL)
    for number in range(PAIRS):
        for place, one in enumerate((user, small[number // ADDS_OF_SMALL])):
            found[place] += await one.add(wire, 1)
            found[2 + place].append(await one.search(wire, number))
    add, add_beside, search, search_beside = map(median, found)
    return Measured(size, add, search, add_beside, search_beside)


async def one_user(url: str, memories: int) -> list[Measured]:
    """One user growing to `memories`."""
    sizes = [size for size in SIZES if size <= memories]
    room = PAIRS * 20 * (len(sizes) + 1)
    user, rows = User("growing", memories + room, 1), []
    async with Wire(url, {}) as wire:
        for size in sizes:
            await user.grow(wire, size)
            rows.append(await measured(wire, user, size))
    return rows


async def all_users(url: str, database: str, most: int) -> tuple[list[Measured], tuple[float, float]]:
    """Tables growing to `most` rows of messages; bytes a memory as added, and as copied."""
    rows: list[Measured] = []
    with psycopg.connect(database, autocommit=True) as connection:
        async with Wire(url, {}) as wire:
            template = User("template", TYPICAL, 100)
            await template.grow(wire, TYPICAL)
            before, copies = bytes_a_memory(connection), 0
            for number, size in enumerate(size for size in ROWS if size <= most):
                wanted = size // TYPICAL
                copy_user(connection, template.name, copies, wanted - copies)
                copies = wanted
                connection.execute("VACUUM ANALYZE")
                room = TYPICAL + PAIRS * 20 * 2
                user = User(f"fresh-{number}", room, 200 + number)
                await user.grow(wire, TYPICAL)
                rows.append(await measured(wire, user, size))
        return rows, (before, bytes_a_memory(connection))


def table(title: str, rows: Sequence[Measured]) -> Table:
    """Each with its ratio to the first row, and to the small user of the same moment."""
    made = Table(title=title, title_justify="left")
    for heading in ("size", "Add ms", "to first", "to small", "search ms", "to first", "to small"):
        made.add_column(heading, justify="right")
    for one in rows:
        made.add_row(
            f"{one.size:,}",
            f"{one.add:.1f}", f"{one.add / rows[0].add:.2f}", f"{one.add / one.add_beside:.2f}",
            f"{one.search:.1f}", f"{one.search / rows[0].search:.2f}", f"{one.search / one.search_beside:.2f}",
        )  # fmt: skip
    return made


def main(
    memories: Annotated[int, typer.Option(min=0, max=200_000, help="that one user grows to")] = 20_000,
    rows: Annotated[int, typer.Option(min=0, max=1_000_000, help="messages that all users grow to")] = 100_000,
    folder: Annotated[Path | None, typer.Option(help="real conversations, to compare the vectors with")] = None,
    picture: Annotated[Path | None, typer.Option(help="an SVG of the medians against the sizes")] = None,
) -> None:
    """Print the medians, their ratios, and how the vectors of the made logs lie."""
    console = Console()
    place = Path(tempfile.mkdtemp(prefix="pgrecall-growth-"))
    place.chmod(0o755)  # the embedded Postgres may run under an account of its own
    try:
        with (
            EmbeddedPostgres(place / "data") as postgres,
            ServerProcess(place, database_url=postgres.url, migrate_on_start="true") as server,
        ):
            server.ready()
            one = asyncio.run(one_user(server.url, memories))
            console.print(table("one user's memories", one))
            everyone, (added, copied) = asyncio.run(all_users(server.url, postgres.url, rows))
            console.print(table("all users' messages, a user of 600", everyone))
            console.print(f"bytes a memory: {added:,.0f} as added, {copied:,.0f} copied", highlight=False)
    finally:
        shutil.rmtree(place)
    made = [parse("made", json.loads(gen.written(TYPICAL, 50, seed))) for seed in range(4)]
    console.print(clustering({"made logs": made} | ({"folder": load(folder)} if folder else {})))
    if picture is not None:
        picture.write_text(drawn({"one user": one, "all users": everyone}), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
