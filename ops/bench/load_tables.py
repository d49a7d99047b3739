"""The tables that a load prints, within 80 columns."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from ops.bench.driving import Summary
from ops.bench.processes import Watched
from ops.bench.workload import Kind


def call_table(measured: Mapping[Kind, Summary]) -> Table:
    """A row a kind of call. `growth`: p50 of the last third over that of the first."""
    table = _table("calls", "ms", "answered", "per s", "p50", "p95", "p99", "max", "growth", "errors")
    for kind, one in measured.items():
        times = [f"{value:.1f}" for value in (one.per_second, one.p50, one.p95, one.p99, one.longest)]
        table.add_row(kind, f"{one.answered:,}", *times, f"{one.growth:.2f}", str(sum(one.errors.values())))
    return table


def window_table(measured: Mapping[Kind, Summary]) -> Table:
    """p50 in ms of each tenth of the run."""
    table = _table("p50 ms over time, tenths of the run", "call", *(str(tenth) for tenth in range(1, 11)))
    for kind, one in measured.items():
        table.add_row(kind, *(f"{value:.0f}" for value in one.windows))
    return table


def process_table(watched: Mapping[int, Watched]) -> Table:
    """Each server process, and all of Postgres as one: at the run's middle, its end, and most."""
    table = _table("processes", "process", "PSS MiB middle", "end", "RSS MiB end", "most", "CPU s")
    for pid, one in watched.items():
        if one.name != "Postgres":
            middle, end = one.pss[len(one.pss) // 2], one.pss[-1]
            row = [f"{value:.0f}" for value in (middle, end, one.rss[-1], max(one.rss))]
            table.add_row(f"{one.name} {pid}", *row, f"{one.cpu:.1f}")
    postgres = [one for one in watched.values() if one.name == "Postgres"]
    if postgres:
        # RSS would count the shared buffers once a process.
        middle = sum(one.pss[len(one.pss) // 2] for one in postgres)
        end, cpu = sum(one.pss[-1] for one in postgres), sum(one.cpu for one in postgres)
        table.add_row(f"Postgres, {len(postgres)} of them", f"{middle:.0f}", f"{end:.0f}", "", "", f"{cpu:.1f}")
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right")
    return table
