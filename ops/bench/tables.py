"""The tables that a replay prints, within 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from ops.bench.caller import Phase
from ops.bench.logs import FIRST_KIND, KINDS
from ops.bench.scoring import BUDGETS, DEPTHS, Coverage, percentile

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"} | dict(enumerate(KINDS, FIRST_KIND))


def coverage_tables(overall: Coverage, categories: Mapping[int, Coverage]) -> Iterator[Table]:
    """any@k, then all@k: a row for all questions, then one per category."""
    rows = {"all": overall}
    rows |= {f"{number} {CATEGORIES.get(number, '')}".rstrip(): one for number, one in categories.items()}
    for measure in ("any", "all"):
        table = Table(title=f"{measure}@k", title_justify="left")
        table.add_column("questions", no_wrap=True)
        for heading in ("count", *(f"@{depth}" for depth in DEPTHS), "chars/query"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, one in rows.items():
            shares = one.any_at if measure == "any" else one.all_at
            cells = [f"{shares[depth]:.3f}" for depth in DEPTHS]
            table.add_row(name, str(one.questions), *cells, f"{one.characters:,.0f}")
        yield table


def budget_table(overall: Coverage) -> Table:
    """any and all within budgets of estimated tokens, memories taken from the first on."""
    table = Table(title="within estimated tokens", title_justify="left")
    table.add_column("measure", no_wrap=True)
    for budget in BUDGETS:
        table.add_column(f"{budget:,}", justify="right", no_wrap=True)
    for name, shares in (("any", overall.any_within), ("all", overall.all_within)):
        table.add_row(name, *(f"{shares[budget]:.3f}" for budget in BUDGETS))
    return table


def phase_table(phases: Mapping[str, Phase]) -> Table:
    """A row per kind of call: how many were answered, how fast, how often it took another attempt."""
    table = Table(title="calls", title_justify="left")
    table.add_column("call", no_wrap=True)
    for heading in ("answered", "p50 ms", "p95 ms", "per s", "seconds", "retries", "errors"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, phase in phases.items():
        answered = len(phase.latencies)
        speeds = ["-", "-", "-"]
        if answered:
            speeds = [f"{percentile(phase.latencies, share) * 1000:.1f}" for share in (0.5, 0.95)]
            speeds.append(f"{answered / phase.seconds:.1f}")
        failures = [str(phase.retries.total()), str(phase.errors.total())]
        table.add_row(name, str(answered), *speeds, f"{phase.seconds:.1f}", *failures)
    return table


def failure_lines(phases: Mapping[str, Phase]) -> Iterator[str]:
    """`add errors: 3 x 503, 1 x 422`, for each kind of call that had any."""
    for name, phase in phases.items():
        for what, kinds in (("retries", phase.retries), ("errors", phase.errors)):
            if kinds:
                yield f"{name} {what}: " + ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common())
