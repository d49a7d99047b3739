"""Replay conversations against any server with the contract, and measure what comes back.

python -m ops.bench.replay FOLDER --url http://127.0.0.1:8000 --workers 16
python -m ops.bench.replay --compare A.json B.json
"""

from __future__ import annotations

import asyncio
import json
import secrets
from pathlib import Path
from typing import Annotated

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.bench.dataset import Conversation, DatasetError, load
from ops.bench.logs import load_logs
from ops.bench.run import Outcome, Run, differences, scored
from ops.bench.scoring import by_category, coverage
from ops.bench.tables import budget_table, coverage_tables, failure_lines, phase_table
from pgrecall.smoke.caller import secret_headers

TIMEOUT = 110.0
"""Seconds a call may take: a proxy cuts at 100."""


async def replay(
    conversations: list[Conversation],
    client: httpx2.AsyncClient,
    console: Console,
    *,
    prefix: str,
    top_k: int,
    workers: int,
    skip_add: bool,
    options: int = 0,
) -> Run:
    """Run it all under a progress bar per phase."""
    run = Run(client, prefix, top_k, workers, options)
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        if not skip_add:
            await run.add(conversations, progress)
        await run.search(conversations, progress)
    return run


def report(run: Run, conversations: list[Conversation], console: Console) -> bool:
    """Print the tables; True when no call failed."""
    outcomes = [scored(outcome) for outcome in run.outcomes]
    for table in coverage_tables(coverage(outcomes), by_category(outcomes)):
        console.print(table)
    console.print(budget_table(coverage(outcomes)))
    phases = {"add": run.adds, "search": run.searches}
    console.print(phase_table(phases))
    for line in failure_lines(phases):
        console.print(line, highlight=False)
    skipped = sum(conversation.without_evidence for conversation in conversations)
    console.print(f"{skipped} questions left out: they name no turn that exists")
    return not (run.adds.errors or run.searches.errors)


def report_differences(console: Console, first: list[Outcome], second: list[Outcome]) -> bool:
    """Print which questions differ; True when none does."""
    different = differences(first, second)
    total = max(len(first), len(second))
    console.print(f"{len(different)} of {total} questions got other contents, or another order")
    if different:
        console.print("the first of them: " + ", ".join(different[:10]), highlight=False)
    return not different


def main(
    folder: Annotated[
        Path | None, typer.Argument(help="one JSON file per conversation, or logs like tests/logs")
    ] = None,
    url: Annotated[str, typer.Option(help="the server")] = "http://127.0.0.1:8000",
    workers: Annotated[int, typer.Option(min=1, help="calls at once")] = 16,
    top_k: Annotated[int, typer.Option(min=1, help="memories asked for")] = 100,
    prefix: Annotated[str | None, typer.Option(help="of the user ids; unset: a fresh one")] = None,
    token: Annotated[str | None, typer.Option(help="the server's secret")] = None,
    scheme: Annotated[str, typer.Option(help="bearer, token or x-api-key")] = "bearer",
    options: Annotated[int, typer.Option(min=0, help="answer choices to send, one of them right")] = 0,
    only: Annotated[str | None, typer.Option(help="the one conversation of that name")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="save each question's contents")] = None,
    skip_add: Annotated[bool, typer.Option("--skip-add", help="search what --prefix added before")] = False,
    repeat_check: Annotated[Path | None, typer.Option(help="a saved run that this one must equal")] = None,
    compare: Annotated[tuple[Path, Path] | None, typer.Option(help="two saved runs; sends nothing")] = None,
) -> None:
    """Exit code 1 if a call failed, or if two runs that should be equal are not."""
    console = Console()
    if compare is not None:
        raise typer.Exit(not report_differences(console, *map(saved, compare)))
    if folder is None:
        raise typer.BadParameter("name the folder, or two saved runs with --compare")
    if skip_add and prefix is None:
        raise typer.BadParameter("--skip-add needs the --prefix of the run that added")
    try:
        conversations = load_logs(folder) or load(folder)
    except DatasetError as error:
        raise typer.BadParameter(str(error)) from error
    if only is not None:
        conversations = [one for one in conversations if one.name == only]
    prefix = prefix or f"replay-{secrets.token_hex(4)}"

    async def connected() -> Run:
        async with httpx2.AsyncClient(
            base_url=url,
            headers=secret_headers(token, scheme),
            timeout=TIMEOUT,
            limits=httpx2.Limits(max_connections=workers, max_keepalive_connections=workers),
        ) as client:
            try:
                await client.get("/health")
            except httpx2.TransportError as error:
                raise typer.BadParameter(f"no server answers at {url}: {type(error).__name__}") from error
            return await replay(
                conversations,
                client,
                console,
                prefix=prefix,
                top_k=top_k,
                workers=workers,
                skip_add=skip_add,
                options=options,
            )

    run = asyncio.run(connected())
    console.print(f"prefix {prefix}, {workers} workers, top_k {top_k}", highlight=False)
    good = report(run, conversations, console)
    if json_out is not None:
        json_out.write_text(json.dumps(run.outcomes, ensure_ascii=False, indent=1), encoding="utf-8")
    if repeat_check is not None:
        good &= report_differences(console, saved(repeat_check), run.outcomes)
    raise typer.Exit(not good)


def saved(path: Path) -> list[Outcome]:
    """The outcomes that `--json` wrote."""
    outcomes: list[Outcome] = json.loads(path.read_text(encoding="utf-8"))
    return outcomes


if __name__ == "__main__":
    typer.run(main)
