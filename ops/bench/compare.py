"""Two saved runs of the replay, compared question by question: is the difference more than chance?

    python -m ops.bench.compare A.json B.json

A.json and B.json are what `python -m ops.bench.replay --json` saved, of the same questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from ops.bench.replay import saved
from ops.bench.run import Outcome, scored
from ops.bench.scoring import Scored
from ops.bench.statistics import Interval, paired, share
from ops.bench.tables import CATEGORIES

MEASURES = {f"any@{depth}": partial(Scored.any_at, depth=depth) for depth in (5, 20, 100)}
MEASURES["all@100"] = partial(Scored.all_at, depth=100)

Pair = tuple[Scored, Scored]


def pairs(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Pair]:
    """Both runs' outcomes of each question that both asked, in the first's order."""
    others = {(one["conversation"], one["question"]): one for one in second}
    both = ((one, others.get((one["conversation"], one["question"]))) for one in first)
    return [(scored(one), scored(other)) for one, other in both if other is not None]


def comparison_tables(compared: Sequence[Pair]) -> Iterator[Table]:
    """A table for all questions, then one per category, within 100 columns."""
    yield _table("all", compared)
    for category in sorted({one.category for one, _ in compared}):
        name = f"{category} {CATEGORIES.get(category, '')}".rstrip()
        yield _table(name, [pair for pair in compared if pair[0].category == category])


def _table(name: str, compared: Sequence[Pair]) -> Table:
    title = f"{name}: {len(compared)} questions"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", width=7, no_wrap=True)
    # Fixed widths, so that the tables of all categories stand under each other.
    for heading, width in (("A", 19), ("B", 19), ("B - A", 22), ("won", 5), ("lost", 5), ("p", 6)):
        table.add_column(heading, justify="right", width=width, no_wrap=True)
    for measure, met in MEASURES.items():
        first, second = ([int(met(pair[run])) for pair in compared] for run in (0, 1))
        change = paired(first, second)
        shares = [_written(share(outcomes), "") for outcomes in (first, second)]
        verdict = "<.0001" if change.p < 0.0001 else f"{change.p:.4f}"
        table.add_row(
            measure, *shares, _written(change.difference, "+"), str(change.won), str(change.lost), verdict
        )
    return table


def _written(interval: Interval, sign: str) -> str:
    """`.625 (.601-.648)`, and a difference, with "+" as sign, `+.024 (-.001,+.049)`."""
    mean, low, high = (
        f"{value:{sign}.3f}".replace("0.", ".", 1) for value in (interval.mean, interval.low, interval.high)
    )
    return f"{mean} ({low}{',' if sign else '-'}{high})"


def report(first: Sequence[Outcome], second: Sequence[Outcome], console: Console) -> bool:
    """Print the tables and how to read them; False when the two runs have no question in common."""
    compared = pairs(first, second)
    alone = len(first) + len(second) - 2 * len(compared)
    if alone:
        console.print(f"{alone} questions left out: only one of the runs asked them", highlight=False)
    if not compared:
        return False
    for table in comparison_tables(compared):
        console.print(table)
    console.print(
        "In brackets 95% intervals (bootstrap over questions). won: met by B alone, lost: by A alone.\n"
        "p: exact McNemar, two-sided, of that row alone: among many rows one below .05 is no surprise.",
        highlight=False,
    )
    return True


def main(
    first: Annotated[Path, typer.Argument(metavar="A.json", exists=True, dir_okay=False, help="a saved run")],
    second: Annotated[Path, typer.Argument(metavar="B.json", exists=True, dir_okay=False, help="another")],
) -> None:
    """Exit code 1 if the two runs have no question in common."""
    console = Console()
    console.print(f"A: {first.name}, B: {second.name}", highlight=False)
    raise typer.Exit(not report(read(first), read(second), console))


def read(path: Path) -> list[Outcome]:
    """A saved run. Raises BadParameter where the file is none."""
    try:
        return saved(path)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path} is no saved run: {error}") from error


if __name__ == "__main__":
    typer.run(main)
