"""A picture of medians against sizes, as SVG: Add and search, each in ms, the sizes by their logarithm. Readable on
white and on near-black alike, as picture.py's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import log
from typing import Protocol

from ops.bench.picture import ACCENT, BOTTOM, COLOURS, HEIGHT, LEFT, RIGHT, STYLE, TOP, label_heights

WIDTH = 900
Scale = Callable[[float], float]


class Point(Protocol):
    """What is drawn of one size."""

    @property
    def size(self) -> int: ...
    @property
    def add(self) -> float: ...
    @property
    def search(self) -> float: ...


def drawn(lines: Mapping[str, Sequence[Point]]) -> str:
    """The SVG; a line of Adds and one of searches for each name that has points."""
    named = [
        (f"{kind}, {name}", [(one.size, getattr(one, kind.lower())) for one in points])
        for name, points in lines.items()
        if points
        for kind in ("Add", "search")
    ]
    sizes = [size for _, points in named for size, _ in points]
    low, high = min(sizes), max(max(sizes), min(sizes) + 1)
    top: float = max(value for _, points in named for _, value in points) * 1.1

    def x(size: float) -> float:
        share: float = log(size / low) / log(high / low)
        return LEFT + (RIGHT - LEFT) * share

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / top

    ends = label_heights([y(points[-1][1]) for _, points in named])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">',
        "<title>Milliseconds against memories</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<text class="title" x="{LEFT - 34}" y="32">Median ms of an Add and of a search</text>',
        f'<text class="small" x="{LEFT - 34}" y="58">against memories of one user, messages of all</text>',
        *_frame(sorted(set(sizes)), top, x, y),
    ]
    for place, ((name, points), end) in enumerate(zip(named, ends, strict=True)):
        colour = (ACCENT, *COLOURS)[place]
        path = "L".join(f"{x(size):.1f} {y(value):.1f}" for size, value in points)
        parts.append(f'<path class="line" d="M{path}" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text class="name" x="{RIGHT + 14}" y="{end + 6:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _frame(sizes: Sequence[int], top: float, x: Scale, y: Scale) -> Iterator[str]:
    for quarter in range(5):
        value = top * quarter / 4
        grid = "grid" if quarter else "axis"
        yield f'<line class="{grid}" x1="{LEFT}" y1="{y(value):.1f}" x2="{RIGHT}" y2="{y(value):.1f}"/>'
        yield f'<text class="small" x="{LEFT - 10}" y="{y(value) + 5:.1f}" text-anchor="end">{value:.0f}</text>'
    last = float("-inf")
    for size in sizes:
        if x(size) - last > 60:  # else two figures would run into each other
            last = x(size)
            yield f'<text class="small" x="{last:.1f}" y="{BOTTOM + 24}" text-anchor="middle">{size:,}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text class="small" x="{middle:.0f}" y="{BOTTOM + 52}" text-anchor="middle">memories</text>'
