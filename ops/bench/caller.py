"""Calls a memory server as an evaluator does: the same body again after 409, 429 and 5xx, up to 32 times."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

ATTEMPTS = 32
LONGEST_WAIT = 60.0
"""Seconds; the contract's longest Retry-After."""

Job = Callable[[], Awaitable[None]]


class CallFailed(Exception):
    """No usable answer; the message is a short kind of failure ("422", "no answer: ReadTimeout")."""


@dataclass(slots=True)
class Phase:
    """What became of one kind of call. `seconds` are wall-clock, `latencies` those of answered attempts."""

    latencies: list[float] = field(default_factory=list)
    retries: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start


async def call(client: httpx2.AsyncClient, path: str, body: Mapping[str, Any], phase: Phase) -> dict[str, Any]:
    """The JSON object that a 200 carries, its latency counted in `phase`. Raises CallFailed."""
    for attempt in range(ATTEMPTS):
        start = time.perf_counter()
        try:
            response = await client.post(path, json=body)
        except httpx2.TransportError as error:
            failure, retry_after = f"no answer: {type(error).__name__}", None
        else:
            if response.status_code == httpx2.codes.OK:
                phase.latencies.append(time.perf_counter() - start)
                return _object(response)
            failure, retry_after = str(response.status_code), response.headers.get("retry-after")
            if response.status_code not in (409, 429) and response.status_code < 500:
                raise CallFailed(failure)
        if attempt + 1 < ATTEMPTS:
            phase.retries[failure] += 1
            await asyncio.sleep(pause(attempt, retry_after))
    raise CallFailed(failure)


def pause(attempt: int, retry_after: str | None) -> float:
    """Seconds before the next attempt: what the server asked for, else 0.25 doubling up to 10."""
    if retry_after is not None and retry_after.isdecimal():
        return min(float(retry_after), LONGEST_WAIT)
    return min(0.25 * 2.0**attempt, 10.0)


async def work_off(jobs: Iterable[Job], workers: int) -> None:
    """Run the jobs in order, `workers` at a time."""
    waiting = iter(jobs)

    async def worker() -> None:
        for job in waiting:
            await job()

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(worker())


def _object(response: httpx2.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError as error:
        raise CallFailed("200 that is not JSON") from error
    if not isinstance(answer, dict):
        raise CallFailed("200 that is no JSON object")
    return answer
