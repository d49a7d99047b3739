"""A short load of 64 workers, Adds and searches mixed: no error, and no call without a connection."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from ops.bench.driving import Bounds, Called, drive, summary
from ops.bench.load import pool_state, run
from ops.bench.wire import Wire, WireError
from ops.bench.workload import Workload, synthetic
from tests.running import free_port


def test_64_workers_for_eight_seconds_meet_no_error_and_never_exhaust_the_pool(client: httpx2.Client) -> None:
    url = str(client.base_url)
    workload = Workload(synthetic(), users=32, adding=0.5, top_k=100)

    measured = run(url, {}, workload, Bounds(seconds=8, calls=100_000, workers=64), warming=0)

    assert {kind: one.errors for kind, one in measured.items()} == {"add": {}, "search": {}}
    assert min(one.answered for one in measured.values()) > 64
    assert pool_state(url, {})["exhausted"] == 0


def test_an_open_loop_counts_from_when_a_call_was_due(client: httpx2.Client) -> None:
    workload = Workload(synthetic(), users=4, adding=1.0, top_k=10)

    called = asyncio.run(drive(str(client.base_url), {}, workload, Bounds(3, 100, workers=1, rate=1000)))

    # One worker cannot send 1,000 a second: each call waits longer than the one before it.
    assert len(called) == 100
    assert called[-1].took > 10 * called[0].took
    assert called[-1].at < 1


def test_growth_and_errors_are_told_by_kind() -> None:
    called = [Called("add", at / 10, 0.01 if at < 50 else 0.03, None) for at in range(100)]
    called.append(Called("add", 5.0, 0.5, "503"))

    told = summary(called, "add", 10.0)

    assert told is not None
    assert (told.answered, told.errors) == (100, {"503": 1})
    assert told.growth == pytest.approx(3.0)
    assert (told.p50, told.longest) == pytest.approx((10.0, 30.0))
    assert summary(called, "search", 10.0) is None


async def test_a_server_that_is_away_is_an_error_and_no_crash() -> None:
    async with Wire(f"http://127.0.0.1:{free_port()}", {}) as wire:
        with pytest.raises(WireError, match="no answer: ConnectionRefusedError"):
            await wire.post("/add", b"{}", 5)
