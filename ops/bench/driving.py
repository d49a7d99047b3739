"""Drives a server with a workload, as fast as it answers (closed loop) or at a rate (open loop)."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from statistics import median

from ops.bench.scoring import percentile
from ops.bench.wire import Wire, WireError
from ops.bench.workload import Kind, Workload

TIMEOUT = 110.0
"""Seconds a call may take: a proxy cuts at 100."""


@dataclass(frozen=True, slots=True)
class Called:
    """One call: seconds from the run's start to when it should have begun, seconds from then to its answer, and
    what went wrong, if anything did."""

    kind: Kind
    at: float
    took: float
    failure: str | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a run: seconds and calls at most, calls at once, and calls a second (None: closed loop)."""

    seconds: float
    calls: int
    workers: int
    rate: float | None = None


async def drive(url: str, headers: dict[str, str], workload: Workload, bounds: Bounds) -> list[Called]:
    """Call until the time or the count is up; what is under way then is waited for.

    In an open loop a call's time counts from when it was due, also where no worker was free to send it: a server
    that stands still for a second delays every call of that second, not one a worker (coordinated omission).
    """
    start = time.perf_counter()
    due = Due(start, bounds)
    called: list[Called] = []

    async def worker() -> None:
        async with Wire(url, headers) as wire:
            async for intended in due:
                sent, failure = workload.next(), None
                began = time.perf_counter() if bounds.rate is None else intended
                try:
                    status, _ = await wire.post(f"/{sent.kind}", sent.body, TIMEOUT)
                    failure = None if status == 200 else str(status)
                except WireError as error:
                    failure = str(error)
                called.append(Called(sent.kind, began - start, time.perf_counter() - began, failure))

    async with asyncio.TaskGroup() as group:
        for _ in range(bounds.workers):
            group.create_task(worker())
    return called


class Due:
    """When calls are due, shared by the workers; each waits until its own is."""

    def __init__(self, start: float, bounds: Bounds) -> None:
        self._end = start + bounds.seconds
        self._next = start
        self._left = bounds.calls
        self._rate = bounds.rate
        self._random = random.Random(1)

    def __aiter__(self) -> AsyncIterator[float]:
        return self

    async def __anext__(self) -> float:
        intended = self._next if self._rate is not None else time.perf_counter()
        if self._left <= 0 or intended >= self._end:
            raise StopAsyncIteration
        self._left -= 1
        if self._rate is not None:
            self._next += self._random.expovariate(self._rate)  # as callers who know nothing of each other
            await asyncio.sleep(max(0.0, intended - time.perf_counter()))
        return intended


@dataclass(frozen=True, slots=True)
class Summary:
    """Of one kind of call; times in milliseconds, of calls that were answered 200."""

    answered: int
    per_second: float
    p50: float
    p95: float
    p99: float
    longest: float
    growth: float
    """p50 of the run's last third over that of its first; 1 where either saw no call."""
    windows: list[float]
    """p50 of each tenth of the run."""
    errors: dict[str, int]


def summary(called: Sequence[Called], kind: Kind, seconds: float, tenths: int = 10) -> Summary | None:
    """None where no call of that kind was answered and none failed."""
    own = [one for one in called if one.kind == kind]
    good = [one for one in own if one.failure is None]
    if not own:
        return None
    took = [one.took * 1000 for one in good] or [float("nan")]
    windows = [
        median([one.took * 1000 for one in good if int(one.at / seconds * tenths) == tenth] or [float("nan")])
        for tenth in range(tenths)
    ]
    first = [one.took for one in good if one.at < seconds / 3]
    last = [one.took for one in good if one.at >= seconds * 2 / 3]
    p50, p95, p99, longest = (percentile(took, share) for share in (0.5, 0.95, 0.99, 1.0))
    return Summary(
        answered=len(good),
        per_second=len(good) / seconds,
        p50=p50,
        p95=p95,
        p99=p99,
        longest=longest,
        growth=median(last) / median(first) if first and last else 1.0,
        windows=windows,
        errors=dict(Counter(one.failure for one in own if one.failure is not None)),
    )
