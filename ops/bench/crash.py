"""kill -9 in the middle of Adds, again and again: is every Add that was answered 200 there afterwards?

python -m ops.bench.crash --rounds 20 --workers 16

A server with the embedded Postgres, static embeddings and a stand-in language model. Each round hammers
/add, kills at a random moment (server and Postgres, only Postgres, only the server, in turn), brings it
back and looks into the tables for what was answered; only then, since it would mend a loss, is everything
sent once more, and looked for again. Exit code 1 on a loss.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ops.bench.provider import StandIn
from ops.bench.server_process import ServerProcess, kill_postgres
from ops.bench.wholeness import losses
from pgrecall.embedded import EmbeddedPostgres

WAYS = ("everything", "Postgres", "the server")
UNDER_LOAD = (0.1, 2.0)
"""Seconds from the first answer to the kill, drawn evenly."""
WORDS = ("harbour", "lantern", "maple", "seven", "copper", "river", "später", "雨", "violin", "bread", "Tuesday")
BEGINNING = 1_700_000_000_000
"""Unix milliseconds of the first message."""

Body = dict[str, Any]


@dataclass(slots=True)
class Round:
    """What became of one kill."""

    way: str
    seconds: float
    """From the first answer to the kill."""
    answered: list[Body] = field(default_factory=list)
    unanswered: list[Body] = field(default_factory=list)
    killed: float = 0.0
    """When, by time.perf_counter()."""
    restart_seconds: float = 0.0
    """From the kill until /health says that the database answers and no Add of before is under way."""
    lost: list[str] = field(default_factory=list)


class Crash:
    """A server in `place` and the Adds it was sent; `chance` decides what is said and when it dies."""

    def __init__(self, place: Path, provider: StandIn, workers: int, chance: random.Random) -> None:
        self.data_dir = place / "data"
        self._server = ServerProcess(
            place, data_dir=str(self.data_dir), llm_mode="best_effort", llm_base_url=provider.base_url
        )
        self._workers = workers
        self._chance = chance
        self._numbers = itertools.count()
        self._answered: list[Body] = []

    def start(self) -> None:
        self._server.launch()
        self._server.ready()

    def stop(self) -> None:
        self._server.stop()

    def round(self, way: str) -> Round:
        """Adds, a kill, a restart, and the looks afterwards."""
        one = Round(way, self._chance.uniform(*UNDER_LOAD))
        asyncio.run(self._hammer(one))
        self.bring_back(one)
        self._answered += one.answered
        lost = self._losses()  # before anything is sent again: a repeat of a lost Add would store it
        lost += asyncio.run(self._again(one.answered + one.unanswered))
        self._answered += one.unanswered
        one.lost += dict.fromkeys(lost + self._losses())
        return one

    def bring_back(self, one: Round) -> None:
        """Start what was killed; returns once it serves."""
        if one.way != "Postgres":
            self._server.launch()
        self._server.ready()
        one.restart_seconds = time.perf_counter() - one.killed

    def _losses(self) -> list[str]:
        """What is amiss in the tables, given all that was answered so far."""
        with EmbeddedPostgres(self.data_dir) as postgres:
            return list(losses(postgres.url, self._answered))

    async def _hammer(self, one: Round) -> None:
        """Add from every worker until the kill; what has no answer by then is kept apart."""
        begun, dead = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            while not dead.is_set():
                body = self._body()
                answered = await self._add(client, body)
                (one.answered if answered else one.unanswered).append(body)
                begun.set()

        async with self._client() as client, asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(work())
            await begun.wait()
            await asyncio.sleep(one.seconds)
            one.killed = time.perf_counter()
            if one.way != "Postgres":
                self._server.kill()
            if one.way != "the server":
                kill_postgres(self.data_dir)
            dead.set()

    async def _again(self, bodies: list[Body]) -> list[str]:
        """Send all once more: what was stored is a repeat, what was not is stored now."""
        async with self._client() as client:
            slots = asyncio.Semaphore(self._workers)

            async def add(body: Body) -> str | None:
                async with slots:
                    return None if await self._add(client, body) else f"request {body['request_id']}: refused again"

            return [failure for failure in await asyncio.gather(*map(add, bodies)) if failure]

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self._server.url, timeout=60, trust_env=False)

    async def _add(self, client: httpx2.AsyncClient, body: Body) -> bool:
        """Whether it was answered 200."""
        try:
            return (await client.post("/add", json=body)).status_code == httpx2.codes.OK
        except httpx2.TransportError:
            return False

    def _body(self) -> Body:
        """A request of its own, of 5 to 20 messages, for one of a handful of users and sessions."""
        number = next(self._numbers)
        said = [
            {
                "role": self._chance.choice(("user", "assistant")),
                "content": " ".join(self._chance.choices(WORDS, k=self._chance.randint(3, 40))),
                "timestamp": BEGINNING + number * 60_000,
            }
            for _ in range(self._chance.randint(5, 20))
        ]
        user, session = f"user-{self._chance.randrange(5)}", f"session-{self._chance.randrange(3)}"
        return {"user_id": user, "session_id": session, "request_id": f"request-{number}", "messages": said}


def crash(
    rounds: int,
    workers: int,
    seed: int,
    seen: Callable[[Round], None],
    ways: Sequence[str] = WAYS,
    *,
    keeping: Callable[[Path], None] = lambda place: None,
) -> None:
    """Run it in a fresh directory, which stays where something was lost or went wrong; `seen` gets each
    round, `keeping` the directory that stays."""
    place = Path(tempfile.mkdtemp(prefix="pgrecall-crash-"))
    place.chmod(0o755)  # under root, Postgres runs as an account of its own
    lost = True
    try:
        lost = _rounds(place, rounds, workers, random.Random(seed), seen, ways)
    finally:
        if lost:
            keeping(place)
        else:
            shutil.rmtree(place)


def _rounds(
    place: Path,
    rounds: int,
    workers: int,
    chance: random.Random,
    seen: Callable[[Round], None],
    ways: Sequence[str],
) -> bool:
    """Whether something was lost."""
    lost = False
    with StandIn() as provider:
        running = Crash(place, provider, workers, chance)
        running.start()
        try:
            for way in itertools.islice(itertools.cycle(ways), rounds):
                one = running.round(way)
                lost = lost or bool(one.lost)
                seen(one)
        finally:
            running.stop()
    return lost


def report(rounds: list[Round], console: Console) -> bool:
    """Print a row a round and every loss; True when nothing was lost."""
    table = Table(title="kill -9 in the middle of Adds", title_justify="left")
    for heading in ("round", "killed", "after s", "answered", "unanswered", "back in s", "lost"):
        table.add_column(heading, justify="left" if heading == "killed" else "right", no_wrap=True)
    for number, one in enumerate(rounds, start=1):
        counts = (
            str(len(one.answered)),
            str(len(one.unanswered)),
            f"{one.restart_seconds:.1f}",
            str(len(one.lost)),
        )
        table.add_row(str(number), one.way, f"{one.seconds:.2f}", *counts)
    console.print(table)
    for line in (line for one in rounds for line in one.lost):
        console.print(line, highlight=False)
    answered = sum(len(one.answered) for one in rounds)
    console.print(f"{answered} Adds answered 200 under {len(rounds)} kills", highlight=False)
    return not any(one.lost for one in rounds)


def main(
    rounds: Annotated[int, typer.Option(help="How many kills.", min=1)] = 20,
    workers: Annotated[int, typer.Option(help="Adds at once.", min=1)] = 16,
    seed: Annotated[int, typer.Option(help="Of what is said and when it dies.")] = 0,
    everything: Annotated[bool, typer.Option("--everything", help="Kill server and Postgres each time.")] = False,
) -> None:
    """kill -9 in the middle of Adds: is every Add that was answered 200 there afterwards?"""
    console = Console()
    done: list[Round] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("Kills", total=rounds)

        def seen(one: Round) -> None:
            done.append(one)
            progress.advance(bar)

        def keeping(place: Path) -> None:
            console.print(f"Data and log stay in {place}", highlight=False, soft_wrap=True)

        crash(rounds, workers, seed, seen, WAYS[:1] if everything else WAYS, keeping=keeping)
    if not report(done, console):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
