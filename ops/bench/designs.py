"""Two physical designs for BM25 over one user's log: what each costs in space, in an Add, in a search.

    python -m ops.bench.designs URL --memories 2000 10000

terms: a row for each term of each memory, (user_id, term, n) with count and length in the index.
tsvector: a column of lexemes with positions, GIN on it; counts by unnest of the rows that match.
Both give the same scores, which is checked; in a scratch schema, among as many rows of seven other users.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import psycopg
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ops.bench.statement import TERMS_ASKED, spoken_words

SCHEMA = "pgrecall_bench_designs"
TABLES = """
CREATE TABLE terms (user_id text COLLATE "C", term text COLLATE "C", n bigint, count smallint, length integer,
                    PRIMARY KEY (user_id, term, n) INCLUDE (count, length));
CREATE TABLE texts (user_id text COLLATE "C", n bigint, length integer, lexemes tsvector, PRIMARY KEY (user_id, n));
CREATE INDEX texts_lexemes_idx ON texts USING gin (lexemes);
"""
ADD_TERMS = b"""
INSERT INTO terms SELECT %(user)b::text, word, %(first)b::bigint + place - 1, count(*), min(words)
FROM unnest(%(texts)b::text[]) WITH ORDINALITY AS t(text, place)
CROSS JOIN LATERAL (SELECT word, count(*) OVER () AS words FROM unnest(string_to_array(text, ' ')) AS word) AS w
GROUP BY word, place"""
ADD_TSVECTOR = b"""
INSERT INTO texts SELECT %(user)b::text, %(first)b::bigint + place - 1, cardinality(string_to_array(text, ' ')),
                         to_tsvector('simple', text)
FROM unnest(%(texts)b::text[]) WITH ORDINALITY AS t(text, place)"""
SCORE = """
, rarity AS (SELECT word, ln(1 + (%(size)b::float8 - count(*) + 0.5::float8) / (count(*) + 0.5::float8)) AS idf
             FROM posted GROUP BY word)
SELECT n, sum(idf * count * 1.9::float8
              / (count + 0.9::float8 * (0.25::float8 + 0.75::float8 * length / %(average)b::float8))) AS score
FROM posted JOIN rarity USING (word) GROUP BY n ORDER BY score DESC, n LIMIT 100"""
SEARCH_TERMS = (
    """
WITH posted AS MATERIALIZED (
    SELECT term AS word, n, count::float8, length::float8 FROM unnest(%(words)b::text[]) AS asked
    JOIN terms ON user_id = %(user)b::text AND term = asked)"""
    + SCORE
).encode()
SEARCH_TSVECTOR = (
    """
WITH posted AS MATERIALIZED (
    SELECT lexeme AS word, n, cardinality(positions)::float8 AS count, length::float8
    FROM texts CROSS JOIN LATERAL unnest(lexemes)
    WHERE user_id = %(user)b::text AND lexemes @@ array_to_string(%(words)b::text[], ' | ')::tsquery
      AND lexeme = ANY (%(words)b::text[]))"""
    + SCORE
).encode()
WORDS_A_MEMORY = 14


@dataclass(frozen=True, slots=True)
class Design:
    name: str
    table: str
    add: bytes
    search: bytes


DESIGNS = (
    Design("terms", "terms", ADD_TERMS, SEARCH_TERMS),
    Design("tsvector, GIN", "texts", ADD_TSVECTOR, SEARCH_TSVECTOR),
)


def timed(
    connection: psycopg.Connection[Any], text: bytes, given: dict[str, Any]
) -> tuple[float, Sequence[tuple[Any, ...]]]:
    """Milliseconds of one prepared execution, and its rows."""
    start = time.perf_counter()
    cursor = connection.execute(text, given, prepare=True)
    rows = cursor.fetchall() if cursor.description else []
    return (time.perf_counter() - start) * 1000, rows


def fill(connection: psycopg.Connection[Any], sizes: Sequence[int]) -> dict[str, float]:
    """Adds of 20 memories to each user in turn, by each design in turn; the median milliseconds of an Add."""
    random = np.random.default_rng(7)
    taken: dict[str, list[float]] = {design.name: [] for design in DESIGNS}
    for number in track(range(max(sizes) // 20), "filling", transient=True):
        for user in [*(f"u{size}" for size in sizes if number * 20 < size), f"other{number % 7}"]:
            texts = [" ".join(spoken_words(random, WORDS_A_MEMORY)) for _ in range(20)]
            for design in DESIGNS:
                given = {"user": user, "first": number * 20, "texts": texts}
                taken[design.name].append(timed(connection, design.add, given)[0])
    return {name: statistics.median(times[len(times) // 2 :]) for name, times in taken.items()}


def main(
    url: Annotated[str, typer.Argument(help="a Postgres; a scratch schema is made and dropped")],
    memories: Annotated[list[int], typer.Option(help="sizes of the logs")] = [2000, 10000],  # noqa: B006
    pairs: Annotated[int, typer.Option(help="searches by each design")] = 100,
) -> None:
    """Print one row a design."""
    console = Console()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        try:
            connection.execute(f"SET search_path = {SCHEMA}; SET jit = off; {TABLES}".encode())
            adding = fill(connection, memories)
            connection.execute("VACUUM ANALYZE")
            searching = {
                (design.name, size): times for size in memories for design, times in search(connection, size, pairs)
            }
            stored = connection.execute("SELECT count(*) FROM texts").fetchall()[0][0]
            table = Table(
                "design", "bytes a memory", "Add of 20, ms", *(f"search {size:,}, ms" for size in memories)
            )
            for design in DESIGNS:
                query = f"SELECT pg_total_relation_size('{design.table}')"
                size_of = connection.execute(query.encode()).fetchall()[0][0]
                speeds = [f"{searching[design.name, size]:.2f}" for size in memories]
                table.add_row(design.name, f"{size_of / stored:,.0f}", f"{adding[design.name]:.2f}", *speeds)
            console.print(table)
            console.print(
                f"medians; {pairs} interleaved pairs of searches of {TERMS_ASKED} words; {stored:,} memories"
            )
        finally:
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())


def search(connection: psycopg.Connection[Any], size: int, pairs: int) -> list[tuple[Design, float]]:
    """Median milliseconds by each design, in turn. Raises SystemExit where their scores differ."""
    random = np.random.default_rng(8)
    taken: dict[str, list[float]] = {design.name: [] for design in DESIGNS}
    for _ in range(pairs):
        words = list(dict.fromkeys(spoken_words(random, TERMS_ASKED)))
        given = {"user": f"u{size}", "words": words, "size": float(size), "average": float(WORDS_A_MEMORY)}
        found = []
        for design in DESIGNS:
            milliseconds, rows = timed(connection, design.search, given)
            taken[design.name].append(milliseconds)
            found.append([round(score, 6) for _, score in rows])
        if found[0] != found[1]:
            raise SystemExit("the designs differ in their scores")
    return [(design, statistics.median(taken[design.name])) for design in DESIGNS]


if __name__ == "__main__":
    typer.run(main)
