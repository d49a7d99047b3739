"""A bar with rate and time left."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bar:
    """`total` None: nobody knows how much there is. `counts`: what is counted beside it, such as "messages"."""

    def __init__(self, console: Console, what: str, total: int | None, counts: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[done]} " + counts),
            TextColumn("{task.fields[rate]}/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task(what, total=total, done=0, rate="–")

    def advance(self, part: float, done: int) -> None:
        """`part` of the total is behind, and `done` counted in all."""
        elapsed = self._progress.tasks[self._task].elapsed or 0.0
        rate = f"{done / elapsed:.0f}" if elapsed > 0 else "–"
        self._progress.update(self._task, advance=part, done=done, rate=rate)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._progress.stop()
