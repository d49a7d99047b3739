"""A load of Adds and searches, mixed for the same users: latencies, errors, throughput, growth, memory.

    python -m ops.bench.load --workers 16 --seconds 60
    python -m ops.bench.load --rate 40 --workers 64 --seconds 600 --adding 0.3 FOLDER

Starts a server of its own with an embedded Postgres in a new directory, or takes `--url` (loopback only). Without
`--rate` each worker calls again as soon as it is answered; with it calls are due at random at that rate.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console

from ops.bench.dataset import load
from ops.bench.driving import Bounds, Summary, drive, summary
from ops.bench.load_tables import call_table, process_table, window_table
from ops.bench.processes import Watched, descendants, watching
from ops.bench.server_process import ServerProcess, parents, postgres_processes
from ops.bench.workload import Kind, Workload, synthetic
from pgrecall.smoke.caller import secret_headers

KINDS: tuple[Kind, ...] = ("add", "search")
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@contextmanager
def own_server(settings: list[str]) -> Iterator[ServerProcess]:
    """A server over an embedded Postgres of its own; `settings` as NAME=VALUE, without the prefix."""
    place = Path(tempfile.mkdtemp(prefix="pgrecall-load-"))
    place.chmod(0o755)  # the embedded Postgres may run under an account of its own
    named = dict(setting.lower().split("=", 1) for setting in settings)
    try:
        with ServerProcess(place, data_dir=str(place / "data"), **named) as server:
            server.ready()
            yield server
    finally:
        shutil.rmtree(place)


def own_processes(server: ServerProcess, data_dir: Path) -> dict[int, str]:
    """The server's processes, Postgres's, and this one, by pid."""
    postgres = postgres_processes(data_dir)
    serving = [pid for pid in descendants(server.pid, parents()) if pid not in postgres]
    return dict.fromkeys(postgres, "Postgres") | dict.fromkeys(serving, "server") | {os.getpid(): "this harness"}


def run(
    url: str, headers: dict[str, str], workload: Workload, bounds: Bounds, warming: float
) -> dict[Kind, Summary]:
    """A summary of each kind of call, after `warming` seconds that do not count."""
    if warming:
        asyncio.run(drive(url, headers, workload, Bounds(warming, bounds.calls, bounds.workers, bounds.rate)))
    called = asyncio.run(drive(url, headers, workload, bounds))
    seconds = max((one.at for one in called), default=0.0) + 1e-9
    summaries = {kind: summary(called, kind, seconds) for kind in KINDS}
    return {kind: one for kind, one in summaries.items() if one is not None}


def pool_state(url: str, headers: dict[str, str]) -> dict[str, Any]:
    """What /health says of the server's connections; nothing where it says nothing."""
    request = urllib.request.Request(f"{url}/health", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        health: dict[str, Any] = json.load(answer)
    return dict(health.get("pool") or {})


def main(
    folder: Annotated[
        Path | None, typer.Argument(help="conversations, one JSON file each; unset: made ones")
    ] = None,
    url: Annotated[str | None, typer.Option(help="a running server on this machine; unset: one of its own")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="for the server of its own: POOL_SIZE=4")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="calls at once")] = 16,
    rate: Annotated[
        float | None, typer.Option(min=0.1, max=5000, help="calls a second; unset: closed loop")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="of the run")] = 30,
    warming: Annotated[float, typer.Option(min=0, max=600, help="seconds before it that do not count")] = 5,
    calls: Annotated[int, typer.Option(min=1, max=5_000_000, help="calls at most")] = 1_000_000,
    adding: Annotated[float, typer.Option(min=0, max=1, help="share of Adds among the calls")] = 0.5,
    users: Annotated[int, typer.Option(min=1, max=10_000, help="users at once")] = 32,
    top_k: Annotated[int, typer.Option(min=1, help="memories asked for")] = 100,
    token: Annotated[str | None, typer.Option(help="the server's secret")] = None,
    scheme: Annotated[str, typer.Option(help="bearer, token or x-api-key")] = "bearer",
    json_out: Annotated[Path | None, typer.Option("--json", help="save what was measured")] = None,
) -> None:
    """Exit code 1 if a call failed."""
    if url is not None and urlsplit(url).hostname not in LOOPBACK:
        raise typer.BadParameter("a load is sent to this machine only")
    workload = Workload(load(folder) if folder else synthetic(), users, adding, top_k)
    bounds, headers = Bounds(seconds, calls, workers, rate), secret_headers(token, scheme)
    watched: dict[int, Watched] = {}
    if url is not None:
        measured = run(url, headers, workload, bounds, warming)
        pool = pool_state(url, headers)
    else:
        with own_server(settings or []) as server:
            data_dir = server.place / "data"
            with watching(lambda: own_processes(server, data_dir)) as watched:
                measured = run(server.url, headers, workload, bounds, warming)
            pool = pool_state(server.url, headers)
    report(Console(), bounds, measured, watched, pool)
    if json_out is not None:
        kinds = {kind: asdict(one) for kind, one in measured.items()}
        processes = [{"pid": pid, "cpu": one.cpu, **asdict(one)} for pid, one in watched.items()]
        saved = {"bounds": asdict(bounds), "calls": kinds, "processes": processes, "pool": pool}
        json_out.write_text(json.dumps(saved, indent=1), encoding="utf-8")
    raise typer.Exit(any(one.errors for one in measured.values()))


def report(
    console: Console,
    bounds: Bounds,
    measured: dict[Kind, Summary],
    watched: dict[int, Watched],
    pool: dict[str, Any],
) -> None:
    """Print the tables."""
    loop = "closed loop" if bounds.rate is None else f"open loop, {bounds.rate:g} calls a second"
    console.print(f"{loop}, {bounds.workers} workers, {bounds.seconds:g} s", highlight=False)
    console.print(call_table(measured))
    console.print(window_table(measured))
    if watched:
        console.print(process_table(watched))
    for kind, one in measured.items():
        for failure, times in one.errors.items():
            console.print(f"{kind} errors: {times} x {failure}", highlight=False)
    if pool:
        console.print("pool: " + ", ".join(f"{name} {value}" for name, value in pool.items()), highlight=False)


if __name__ == "__main__":
    typer.run(main)
