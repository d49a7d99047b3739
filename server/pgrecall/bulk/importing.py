"""`pgrecall import`: a file of JSON lines into the store, as its Adds one by one would leave it, only faster.

This process reads the file and writes the tables, in the file's order; others beside it prepare what is written
next. A chunk is committed whole: killed at any moment, the import goes on where it was when it is run again, since
what is stored is a repeat. In memory are the chunks under way, whatever the file's size.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg.rows import TupleRow

from pgrecall.bulk.preparing import Prepared, prepare, start
from pgrecall.bulk.progress import Bar
from pgrecall.bulk.reading import Chunk
from pgrecall.bulk.session import session
from pgrecall.bulk.writing import write
from pgrecall.connections import reason
from pgrecall.errors import PgrecallError, StartRefused
from pgrecall.settings import Settings
from pgrecall.temporal.grammar import languages

MOST_NAMED = 1000
"""Lines that are remembered as refused or conflicting; the others are only counted."""
AHEAD = 2
"""Chunks that wait beside those being prepared, so that no process stands still while one is written."""


@dataclass(slots=True)
class Summary:
    """What became of the lines of a file. Numbers of requests, of messages where that is said."""

    added: int = 0
    messages: int = 0
    repeats: int = 0
    conflicts: int = 0
    refused: int = 0
    named: list[tuple[int, str]] = field(default_factory=list)
    """Lines that were not taken, and why."""

    def name(self, lines: Iterable[tuple[int, str]]) -> None:
        for line in lines:
            if len(self.named) < MOST_NAMED:
                self.named.append(line)

    def refuse(self, lines: list[tuple[int, str]]) -> None:
        self.refused += len(lines)
        self.name(lines)

    def conflict(self, lines: list[int]) -> None:
        self.conflicts += len(lines)
        self.name((line, "this request_id is stored with another body") for line in lines)


def default_processes() -> int:
    """One for each core; the one that writes waits for Postgres most of its time."""
    return os.cpu_count() or 1


@contextmanager
def preparing(settings: Settings, url: str, processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that prepare. On Linux they are forked, with the grammars compiled and the modules loaded: started
    anew each took 1.5 s."""
    languages()
    method = "fork" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method)
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=start, initargs=(settings, url))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cycles among millions of rows on their way: it made taking them over five times as slow."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def run(chunks: Iterable[Chunk], settings: Settings, url: str, *, processes: int, dry: bool, bar: Bar) -> Summary:
    """Import all of it; `dry`: only say what would be. Raises StartRefused where it cannot go on."""
    summary = Summary()
    pending: deque[tuple[Chunk, Future[Prepared]]] = deque()
    try:
        with preparing(settings, url, processes) as pool:
            # Before the connection and the bar: a fork copies neither.
            source = iter(chunks)
            for chunk in source:
                pending.append((chunk, pool.submit(prepare, chunk.bodies, dry)))
                if len(pending) == processes + AHEAD:
                    break
            with session(url, settings.database_schema) as connection, bar, uncollected():
                for chunk in source:
                    _finish(*pending.popleft(), connection, summary, bar)
                    pending.append((chunk, pool.submit(prepare, chunk.bodies, dry)))
                while pending:
                    _finish(*pending.popleft(), connection, summary, bar)
    except (PgrecallError, psycopg.Error, BrokenProcessPool) as error:
        why = error.reason if isinstance(error, PgrecallError) else reason(error)
        raise StartRefused(
            f"The import stopped after {summary.added} requests: {why}",
            "What is counted is stored. Run it again: it goes on where it was.",
        ) from error
    return summary


def _finish(
    chunk: Chunk, future: Future[Prepared], connection: psycopg.Connection[TupleRow], summary: Summary, bar: Bar
) -> None:
    """Write a chunk, once it is prepared, and count it."""
    prepared = future.result()
    written = write(connection, prepared.ready, prepared.audits)
    summary.added += written.stored + len(prepared.new)
    summary.messages += written.messages + sum(prepared.new)
    summary.repeats += len(prepared.repeats) + len(written.repeats)
    summary.conflict(prepared.conflicts + written.conflicts)
    summary.refuse(sorted(chunk.refused + prepared.refused))
    bar.advance(chunk.read, summary.messages)
