"""A picture for a README: any@k against k for saved runs of the same questions, as SVG.

    python -m ops.bench.picture OUT.svg A.json B.json C.json --names "dense,BM25,pgrecall"

The last run is the one that the picture is about: its line is the heaviest and carries its figures. The background
is transparent, and every colour stands out from white as from near-black by at least 4 to 1, since a page with
the picture may be read on either and does not tell an image which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ops.bench.compare import read
from ops.bench.run import Outcome, scored
from ops.bench.statistics import Interval, share

DEEPEST = 100
HEIGHT = 500
LEFT, RIGHT, TOP, BOTTOM = 62, 682, 92, 428
"""The edges of the plot, in pixels from the top left; right of it stand the names of the lines."""
DEPTH_TICKS = (1, 2, 5, 10, 20, 50, 100)
MARKED = (5, 20)
"""Where the last run's line carries its figure; the figure at the end stands beside its name."""
LABEL_GAP = 25
"""Pixels between the baselines of two names at least."""
LETTER = 10.5
"""Pixels of a letter beside a line, in the widest of the fonts."""
COLOURS = ("#7d7d7d", "#b3700b", "#8f6bd1", "#c4587f", "#5c8a2b")
ACCENT = "#1f80d6"
INK = "#787d85"

STYLE = f"""\
text {{ font-family: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; }}
.title {{ font-size: 20px; font-weight: 600; fill: {INK}; }}
.small {{ font-size: 15px; fill: {INK}; }}
.name {{ font-size: 17px; font-weight: 600; }}
.grid {{ stroke: {INK}; stroke-opacity: 0.28; }}
.axis {{ stroke: {INK}; stroke-width: 1.5; }}
.line {{ fill: none; stroke-linejoin: round; stroke-linecap: round; }}"""


def curve(run: Sequence[Outcome]) -> list[Interval]:
    """any@k for k from 1 to 100, each with its interval. Raises ValueError for a run without questions."""
    outcomes = [scored(one) for one in run]
    return [share([int(one.any_at(depth)) for one in outcomes]) for depth in range(1, DEEPEST + 1)]


def drawn(curves: Sequence[Sequence[Interval]], names: Sequence[str], questions: int) -> str:
    """The SVG of the curves, the last in front; as many names as curves."""
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(curves) - 1)] + [ACCENT]
    ends = label_heights([_y(one[-1].mean) for one in curves])
    figures = ", ".join(f"{name} {one[19].mean:.3f}" for name, one in zip(names, curves, strict=True))
    width = round(RIGHT + 30 + LETTER * (max(map(len, names)) + len(" 99.9%")))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" role="img">',
        f"<title>any@k against k: {escape(', '.join(names))}</title>",
        f"<desc>Share of {questions} questions with evidence among the first 20: {escape(figures)}.</desc>",
        f"<style>\n{STYLE}\n</style>",
        *_frame(questions),
    ]
    for one, colour in zip(curves, colours, strict=True):
        parts.append(f'<path d="{_band(one)}" fill="{colour}" fill-opacity="0.13"/>')
    for place, (one, colour, name, end) in enumerate(zip(curves, colours, names, ends, strict=True)):
        parts += _line(one, colour, name, end, heavy=place == len(curves) - 1)
    return "\n".join([*parts, "</svg>", ""])


def label_heights(wanted: Sequence[float]) -> list[float]:
    """Heights near the wanted ones, in their order, at least LABEL_GAP apart and none below the plot."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    heights = list(wanted)
    for above, below in pairwise(order):
        heights[below] = max(heights[below], heights[above] + LABEL_GAP)
    floor = float(BOTTOM)
    for place in reversed(order):
        heights[place] = min(heights[place], floor)
        floor = heights[place] - LABEL_GAP
    return heights


def _frame(questions: int) -> Iterator[str]:
    yield f'<text class="title" x="{LEFT - 34}" y="32">Questions with evidence among the first k memories</text>'
    yield (
        f'<text class="small" x="{LEFT - 34}" y="58">any@k of {questions:,} questions; shaded: 95% intervals</text>'
    )
    for tenths in range(0, 11, 2):
        y = _y(tenths / 10)
        yield f'<line class="{"grid" if tenths else "axis"}" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="small" x="{LEFT - 10}" y="{y + 5:.1f}" text-anchor="end">{tenths * 10}%</text>'
    for depth in DEPTH_TICKS:
        x = _x(depth)
        yield f'<line class="axis" x1="{x:.1f}" y1="{BOTTOM}" x2="{x:.1f}" y2="{BOTTOM + 6}"/>'
        yield f'<text class="small" x="{x:.1f}" y="{BOTTOM + 24}" text-anchor="middle">{depth}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text class="small" x="{middle:.0f}" y="{BOTTOM + 52}" text-anchor="middle">k, memories read</text>'


def _line(one: Sequence[Interval], colour: str, name: str, end: float, *, heavy: bool) -> Iterator[str]:
    width = 4 if heavy else 2.5
    points = "L".join(f"{_x(depth):.1f} {_y(at.mean):.1f}" for depth, at in enumerate(one, start=1))
    yield f'<path class="line" d="M{points}" stroke="{colour}" stroke-width="{width}"/>'
    for depth in MARKED if heavy else ():
        x, y = _x(depth), _y(one[depth - 1].mean)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{colour}"/>'
        yield _text(x - 4, y - 14, colour, f"{one[depth - 1].mean:.1%}", ' text-anchor="end"')
    last = _y(one[-1].mean)
    yield f'<path class="line" d="M{RIGHT + 2} {last:.1f}L{RIGHT + 14} {end:.1f}" stroke="{colour}"/>'
    yield _text(RIGHT + 20, end + 6, colour, f"{name} {one[-1].mean:.1%}", "")


def _text(x: float, y: float, colour: str, written: str, more: str) -> str:
    return f'<text class="name" x="{x:.1f}" y="{y:.1f}" fill="{colour}"{more}>{escape(written)}</text>'


def _band(one: Sequence[Interval]) -> str:
    over = [f"{_x(depth):.1f} {_y(at.high):.1f}" for depth, at in enumerate(one, start=1)]
    under = [f"{_x(depth):.1f} {_y(at.low):.1f}" for depth, at in enumerate(one, start=1)]
    return f"M{'L'.join(over + under[::-1])}Z"


def _x(depth: int) -> float:
    return LEFT + (RIGHT - LEFT) * log(depth) / log(DEEPEST)


def _y(value: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * value


def main(
    out: Annotated[Path, typer.Argument(metavar="OUT.svg", help="the picture")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN.json...", help="saved runs, the main one last")],
    names: Annotated[str, typer.Option(help="of the runs, with commas between")],
) -> None:
    """Draw it. The runs must have asked the same questions."""
    named = [name.strip() for name in names.split(",")]
    if len(named) != len(runs):
        raise typer.BadParameter(f"{len(named)} names for {len(runs)} runs")
    read_runs = [read(path) for path in runs]
    asked = [{(one["conversation"], one["question"]) for one in run} for run in read_runs]
    if not asked[0] or any(other != asked[0] for other in asked):
        raise typer.BadParameter("the runs did not ask the same questions")
    out.write_text(drawn([curve(run) for run in read_runs], named, len(asked[0])), encoding="utf-8")
    Console().print(f"{out}: {', '.join(named)}, {len(asked[0])} questions", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
