"""What each part of the ranking is worth: the same questions with each part off in turn.

    python -m ops.bench.ablate FOLDER
    python -m ops.bench.ablate FOLDER --observations --json RUNS

Starts a server of its own on an embedded Postgres in a temporary folder, adds the conversations once, and for each
row starts the server anew with that row's settings and asks every question. What `--json` saves, one file a row,
is what `ops.bench.compare` and `ops.bench.picture` read.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx2
import psycopg
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ops.bench.caller import Phase
from ops.bench.dataset import Conversation, DatasetError, load
from ops.bench.logs import load_logs
from ops.bench.observations import draw_observations
from ops.bench.provider import StandIn
from ops.bench.replay import TIMEOUT
from ops.bench.run import Outcome, Run, scored
from ops.bench.scoring import coverage, percentile
from ops.bench.server_process import ServerProcess
from ops.bench.tables import failure_lines
from pgrecall.embedded import EmbeddedPostgres

Settings = Mapping[str, str]
"""By name, as ServerProcess takes them: lexical_weight="0"."""
Step = Callable[[Run, list[Conversation], Progress], Awaitable[None]]
"""Run.add or Run.search."""

PARTS: dict[str, Settings] = {
    "vectors": {"dense_weight": "0"},
    "words": {"lexical_weight": "0"},
    "neighbours at 1": {"neighbour_weight": "0"},
    "neighbours at 2": {"second_neighbour_weight": "0"},
    "sessions": {"session_weight": "0"},
    "facts": {"fact_weight": "0"},
    "spelling": {"spelling_weight": "0"},
    "numbers": {"number_weight": "1"},
    "times": {"time_weight": "0"},
}
"""What takes a part out of the score. A number that weighs 1 is a word like any other."""


def alone(kept: str) -> Settings:
    """The settings that leave one part. Memories that tie, as those without any of the question's words do where
    words are alone, are ordered by distance."""
    return {name: value for part, off in PARTS.items() if part != kept for name, value in off.items()}


SHIPPED = "as shipped"
ROWS: dict[str, Settings] = {
    SHIPPED: {},
    **{f"{part} off": off for part, off in PARTS.items()},
    "dense alone": alone("vectors"),
    "BM25 alone": alone("words"),
    "window radius 1": {"window_radius": "1"},
    "variety 0.2": {"variety": "0.2"},
    "variety 0.4": {"variety": "0.4"},
}
PREFIX = "ablate"
ADDS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One row's run: `outcomes` in the data set's order, and how its searches went."""

    name: str
    outcomes: Sequence[Outcome]
    searches: Phase


class Ablation:
    """One filled server, started anew for each row; Postgres runs on between, so its caches stay warm."""

    def __init__(
        self,
        place: Path,
        conversations: list[Conversation],
        progress: Progress,
        *,
        top_k: int,
        workers: int,
        observations: bool,
    ) -> None:
        self._place = place
        self._conversations = conversations
        self._progress = progress
        self._top_k = top_k
        self._workers = workers
        self._observations = observations

    def rows(self, chosen: Sequence[str]) -> Iterator[Row]:
        """Add all, then a Row for each name. Raises RuntimeError where a server does not start or an Add fails."""
        bar = self._progress.add_task("Rows", total=len(chosen))
        with EmbeddedPostgres(self._place / "data") as postgres:
            self._fill()
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")  # else autovacuum would, in the middle of some row
            for name in chosen:
                run = self._run(ROWS[name], Run.search, self._workers)
                self._progress.advance(bar)
                yield Row(name, run.outcomes, run.searches)

    def _fill(self) -> None:
        if not self._observations:
            run = self._run({}, Run.add, ADDS_AT_ONCE)
        else:
            with StandIn() as provider:
                provider.facts_from(draw_observations(self._conversations))
                extracting = {"llm_mode": "required", "llm_base_url": provider.base_url, "llm_api_key": "stand-in"}
                run = self._run(extracting, Run.add, ADDS_AT_ONCE)
        if run.adds.errors:
            raise RuntimeError("\n".join(failure_lines({"add": run.adds})))

    def _run(self, settings: Settings, step: Step, workers: int) -> Run:
        """Start the server, take one step of a run, stop it."""
        own = {"data_dir": str(self._place / "data"), **settings}
        with ServerProcess(self._place, **own) as server:
            server.ready()
            return asyncio.run(self._stepped(server.url, step, workers))

    async def _stepped(self, url: str, step: Step, workers: int) -> Run:
        async with httpx2.AsyncClient(base_url=url, timeout=TIMEOUT, trust_env=False) as client:
            run = Run(client, PREFIX, self._top_k, workers)
            known = set(self._progress.task_ids)
            await step(run, self._conversations, self._progress)
            for bar in set(self._progress.task_ids) - known:
                self._progress.remove_task(bar)
            return run


@contextmanager
def temporary_place() -> Iterator[Path]:
    """A folder that the account of the embedded Postgres may enter, gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="pgrecall-ablate-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def ablation_table(rows: Sequence[Row]) -> Table:
    """A line per row, within 80 columns."""
    table = Table(title="each part off in turn", title_justify="left")
    table.add_column("row", no_wrap=True)
    for heading in ("any@5", "any@20", "any@100", "all@100", "chars", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        found = coverage([scored(outcome) for outcome in row.outcomes])
        shares = [*(found.any_at[depth] for depth in (5, 20, 100)), found.all_at[100]]
        median = f"{percentile(row.searches.latencies, 0.5) * 1000:.1f}" if row.searches.latencies else "-"
        table.add_row(row.name, *(f"{share:.3f}" for share in shares), f"{found.characters:,.0f}", median)
    return table


def save(row: Row, folder: Path) -> None:
    """The row's outcomes as a file of its name, in the form of `replay --json`."""
    path = folder / f"{row.name.replace(' ', '-')}.json"
    path.write_text(json.dumps(row.outcomes, ensure_ascii=False, indent=1), encoding="utf-8")


def main(
    folder: Annotated[Path, typer.Argument(help="one JSON file per conversation, or logs like tests/logs")],
    rows: Annotated[list[str] | None, typer.Option("--row", help="only this row; may be repeated")] = None,
    workers: Annotated[int, typer.Option(min=1, help="searches at once; 1: latency is the search's own")] = 1,
    top_k: Annotated[int, typer.Option(min=1, help="memories asked for")] = 100,
    observations: Annotated[bool, typer.Option("--observations", help="the data set's, as facts")] = False,
    json_out: Annotated[Path | None, typer.Option("--json", help="folder to save each row's run in")] = None,
) -> None:
    """Exit code 1 if a search failed."""
    console = Console()
    chosen = rows or list(ROWS)
    if unknown := [name for name in chosen if name not in ROWS]:
        raise typer.BadParameter(f"no row {unknown[0]!r}; there are: {', '.join(ROWS)}")
    try:
        conversations = load_logs(folder) or load(folder)
    except DatasetError as error:
        raise typer.BadParameter(str(error)) from error
    if json_out is not None:
        json_out.mkdir(parents=True, exist_ok=True)
    done: list[Row] = []
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with temporary_place() as place, Progress(*columns, console=console) as progress:
        ablation = Ablation(place, conversations, progress, top_k=top_k, workers=workers, observations=observations)
        for row in ablation.rows(chosen):
            done.append(row)
            if json_out is not None:
                save(row, json_out)
    console.print(ablation_table(done))
    console.print(f"{len(done[0].outcomes)} questions; ms: median of a search, {workers} at once", highlight=False)
    if not observations:
        console.print("The log holds no facts: facts off equals as shipped.")
    for line in failure_lines({row.name: row.searches for row in done}):
        console.print(line, highlight=False)
    raise typer.Exit(any(row.searches.errors for row in done))


if __name__ == "__main__":
    typer.run(main)
