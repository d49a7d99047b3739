"""An Add of 20 messages over HTTP, on two servers in turn: medians and their ratio.

    python -m ops.bench.adds http://127.0.0.1:8001 http://127.0.0.1:8002 --adds 200

The messages are pseudo-words as unevenly used as in speech, so that a log's vocabulary fills as in life; with
`--folder` the turns of real conversations, in which there are dates and states to be found.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import httpx2
import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ops.bench.dataset import load
from ops.bench.statement import spoken_words

WARMING = 10
"""Adds that do not count."""


def body(user: str, number: int, texts: Sequence[str]) -> dict[str, Any]:
    """20 messages; sessions of 40."""
    return {
        "request_id": f"r{number}",
        "user_id": user,
        "session_id": f"s{number // 2}",
        "messages": [
            {
                "role": "user",
                "content": text,
                "timestamp": 1_683_540_000 + number * 3600 + place * 60,
            }
            for place, text in enumerate(texts)
        ],
    }


def said(folder: Path | None) -> Iterator[list[str]]:
    """20 texts at a time, without end: of 14 pseudo-words each, or of the conversations in turn."""
    random = np.random.default_rng(9)
    turns = [turn.content for one in load(folder) for turn in one.turns] if folder else []
    for number in count():
        if turns:
            yield [turns[(20 * number + place) % len(turns)] for place in range(20)]
        else:
            yield [" ".join(spoken_words(random, 14)) for _ in range(20)]


def main(
    urls: Annotated[list[str], typer.Argument(help="the servers, the one to compare with first")],
    adds: Annotated[int, typer.Option(min=1, help="Adds to each")] = 200,
    folder: Annotated[Path | None, typer.Option(help="conversations to send the turns of")] = None,
) -> None:
    """Exit code 1 where an Add is not answered 200."""
    texts, user = said(folder), f"adds-{secrets.token_hex(4)}"
    taken: list[list[float]] = [[] for _ in urls]
    clients = [httpx2.Client(base_url=url, timeout=110) for url in urls]
    for number in track(range(adds + WARMING), "adding", transient=True):
        sent = body(user, number, next(texts))
        for client, times in zip(clients, taken, strict=True):
            start = time.perf_counter()
            client.post("/add", json=sent).raise_for_status()
            times.append((time.perf_counter() - start) * 1000)
    table = Table("server", "median ms", "p95 ms", "ratio of medians", title="Add of 20 messages over HTTP")
    first = statistics.median(taken[0][WARMING:])
    for url, times in zip(urls, taken, strict=True):
        counted = sorted(times[WARMING:])
        median, p95 = statistics.median(counted), counted[int(0.95 * len(counted))]
        table.add_row(url, f"{median:.1f}", f"{p95:.1f}", f"{median / first:.2f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
