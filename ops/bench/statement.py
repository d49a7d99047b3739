"""The search statement against the plain exact scan, for one user, on a database of its own making.

    python -m ops.bench.statement URL --memories 2000 10000

Fills a scratch schema with users of the given sizes (and as many others around them), then runs both
statements prepared, in turn, and prints medians and their ratio. Drops the schema afterwards.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pgrecall import migrating
from pgrecall.lexical.question import asked_terms
from pgrecall.memory import DENSE_ONLY, Addition, Caps, Extraction, Fact, Message, Question, Weights
from pgrecall.queries import query
from pgrecall.rows import addition_parameters, search_parameters

SCHEMA = "pgrecall_bench_statement"
SCAN = b"SELECT n FROM messages WHERE user_id = %(user_id)b::text ORDER BY embedding <#> %(query)b LIMIT 100"
VOCABULARY = 4000
TERMS_ASKED = 6
"""Their postings are worth some 28% of the log, the median of LoCoMo's questions."""
DAY = datetime(2023, 5, 8, 12, tzinfo=UTC)


def word(number: int) -> str:
    """The pseudo-word of a number: syllables, so that it is analysed like a word."""
    return "".join(
        "bdfgklmnprtvz"[place // 5 % 13] + "aeiou"[place % 5] for place in (number % 65, number // 65, 7)
    )


def spoken_words(random: np.random.Generator, count: int) -> list[str]:
    """Words as unevenly used as in speech: 4,000 of them, the r-th in proportion to 1 / (r + 8)."""
    ranks = np.arange(VOCABULARY)
    shares = 1.0 / (ranks + 8)
    return [word(int(rank)) for rank in random.choice(ranks, size=count, p=shares / shares.sum())]


def addition(user: str, number: int, facts: int, random: np.random.Generator) -> Addition:
    """An Add of 20 messages of some 120 characters, vectors at random; session of 40 messages."""
    vectors = random.normal(size=(20 + facts, 1024)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = [spoken_words(random, 14) for _ in range(20)]
    said = tuple(
        Message("user", "I", " ".join(row), DAY + timedelta(hours=number, minutes=place))
        for place, row in enumerate(words)
    )
    return Addition(
        user, f"r{number}", f"s{number // 2}", bytes(32), said, vectors[:20],
        tuple(Fact(f"I noted {' '.join(words[place][:6])} {number}.", (place,)) for place in range(facts)),
        vectors[20:],
        Extraction.DONE, None, 1, "bench",
    )  # fmt: skip


@contextmanager
def filled(url: str, sizes: list[int], facts: int) -> Iterator[psycopg.Connection[Any]]:
    """A scratch schema with a user u<size> for each size, their Adds interleaved with other users'."""
    migrating.upgrade(url, SCHEMA)
    random = np.random.default_rng(7)
    connection = psycopg.connect(url, autocommit=True)
    try:
        connection.execute(f"SET search_path = {SCHEMA}, public")
        connection.execute("SET jit = off")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        connection.execute("SET plan_cache_mode = force_generic_plan")  # as sql/preamble.sql does
        register_vector(connection)
        add = query("add").text
        for number in track(range(max(sizes) // 20), "filling", transient=True):
            for user in [*(f"u{size}" for size in sizes if number * 20 < size), f"other{number % 7}"]:
                made = addition_parameters(addition(user, number, facts, random))
                connection.execute(add, {"user_id": user, **made})
        connection.execute("VACUUM ANALYZE messages")
        connection.execute("VACUUM ANALYZE facts")
        connection.execute("VACUUM ANALYZE terms")
        connection.execute("VACUUM ANALYZE spellings")
        yield connection
    finally:
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
        connection.close()


def timed(connection: psycopg.Connection[Any], text: bytes, parameters: dict[str, Any]) -> float:
    """Milliseconds of one prepared execution, its rows fetched."""
    start = time.perf_counter()
    connection.execute(text, parameters, prepare=True).fetchall()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--memories", type=int, nargs="+", default=[2000, 10000])
    parser.add_argument("--facts", type=int, default=0, help="facts for each 20 messages")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--explain", action="store_true", help="print the plan of the search statement")
    parser.add_argument("--radius", type=int, default=Caps().window_radius, help="neighbours of each hit")
    parser.add_argument("--dense", action="store_true", help="the vectors alone: no terms, every other weight 0")
    chosen = parser.parse_args()
    table = Table("messages", "plain scan ms", "search ms", "ratio of medians", title="search statement, medians")
    console = Console()
    with filled(chosen.url, chosen.memories, chosen.facts) as connection:
        random = np.random.default_rng(8)
        buffers = connection.execute("SHOW shared_buffers").fetchone()
        for size in chosen.memories:
            scans, searches = [], []
            for _ in range(chosen.pairs + 10):
                vector = random.normal(size=1024).astype(np.float32)
                asked = asked_terms(
                    " ".join(spoken_words(random, TERMS_ASKED)), number_weight=1.0, option_weight=0.0
                )
                weights = DENSE_ONLY if chosen.dense else Weights()
                caps = Caps(window_radius=chosen.radius, weights=weights)
                asking = Question(vector, None, () if chosen.dense else asked)
                parameters = {"user_id": f"u{size}", **search_parameters(f"u{size}", asking, 100, caps)}
                plain = {"user_id": f"u{size}", "query": HalfVector(vector)}
                scans.append(timed(connection, SCAN, plain))
                searches.append(timed(connection, query("search").text, parameters))
            scan, search = statistics.median(scans[10:]), statistics.median(searches[10:])
            table.add_row(f"{size:,}", f"{scan:.2f}", f"{search:.2f}", f"{search / scan:.2f}")
            if chosen.explain:
                plan = connection.execute(
                    b"EXPLAIN (ANALYZE, BUFFERS) " + query("search").text, parameters
                ).fetchall()
                console.print("\n".join(line for (line,) in plan), highlight=False, soft_wrap=True)
        console.print(table)
        console.print(f"shared_buffers {buffers[0] if buffers else '?'}, {chosen.pairs} interleaved pairs")


if __name__ == "__main__":
    main()
