"""Memory and CPU time of processes while something runs. Linux: read from /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 1.0
"""Seconds between samples."""
MIB = 2**20


@dataclass(slots=True)
class Watched:
    """One process: MiB at each sample, and CPU seconds while it was watched. PSS shares out what several processes
    map: only PSS adds up."""

    name: str
    rss: list[float] = field(default_factory=list)
    pss: list[float] = field(default_factory=list)
    cpu_before: float = 0.0
    cpu_after: float = 0.0

    @property
    def cpu(self) -> float:
        return self.cpu_after - self.cpu_before


@contextmanager
def watching(pids: Callable[[], dict[int, str]]) -> Iterator[dict[int, Watched]]:
    """Samples of each process of `pids()` (its name by pid), which is asked each time: workers come and go."""
    watched: dict[int, Watched] = {}
    stopped = threading.Event()

    def sample() -> None:
        for pid, name in pids().items():
            try:
                cpu = cpu_seconds(pid)
                rss, pss = memory(pid)
            except OSError:
                continue  # it has ended
            one = watched.setdefault(pid, Watched(name, cpu_before=cpu))
            one.cpu_after = cpu
            one.rss.append(rss)
            one.pss.append(pss)

    def keep_sampling() -> None:
        while not stopped.wait(EVERY):
            sample()

    sample()
    thread = threading.Thread(target=keep_sampling, daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        stopped.set()
        thread.join()
        sample()


def memory(pid: int) -> tuple[float, float]:
    """RSS and PSS in MiB; (0, 0) of a process that is a kernel's or ending. Raises OSError."""
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    sizes = {words[0]: int(words[1]) * 1024 / MIB for words in lines}
    return sizes.get("Rss:", 0.0), sizes.get("Pss:", 0.0)


def cpu_seconds(pid: int) -> float:
    """User and system time so far. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int, parents: list[tuple[int, int]]) -> list[int]:
    """`pid` and all that came from it, of pairs (process, its parent)."""
    found = [pid]
    for one in found:
        found += [child for child, parent in parents if parent == one]
    return found
