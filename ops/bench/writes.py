"""Ways to write what an import has prepared, on the same rows: seconds by the clock, and of Postgres' processors.

    python -m ops.bench.writes --messages 20000 --rounds 3

- `copy`: numbers drawn under the locks of the owners' rows by one statement, then COPY into the tables
(writing.py). - `staged`: the same, but COPY into temporary tables and INSERT ... SELECT from there. - `add`:
sql/add.sql for each request, as many pipelined in one transaction as a chunk holds.

Each way writes into a database of its own, chunks of as many messages as an import's.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import psycopg
import typer
from psycopg.rows import TupleRow
from rich.console import Console
from rich.table import Table

from ops.bench.imports import database, made, postgres_seconds
from pgrecall.bulk import copying, writing
from pgrecall.bulk.copying import Drawn
from pgrecall.bulk.preparing import Preparing
from pgrecall.bulk.reading import Chunk, chunks
from pgrecall.bulk.ready import Ready
from pgrecall.bulk.session import session
from pgrecall.contract import parse_json, read_add
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.ids import stored_id
from pgrecall.memory import DIMENSIONS, Addition, Extraction
from pgrecall.queries import query
from pgrecall.rows import addition_parameters
from pgrecall.settings import Settings

Connection = psycopg.Connection[TupleRow]
Prepared = tuple[list[Ready], list[dict[str, Any]]]
"""One chunk: for COPY, and as the parameters of sql/add.sql."""
STAGED = ("messages", "facts", "terms", "dates", "states")


def copy(connection: Connection, chunk: Prepared) -> None:
    writing.write(connection, chunk[0], [])


def staged(connection: Connection, chunk: Prepared) -> None:
    """Temporary tables of the same names stand before the others in the search path until the rows are moved."""
    with connection.transaction():
        drawn = [Drawn(one, row[3], row[4]) for one, row in writing.draw(connection, chunk[0])]
        for table in STAGED:
            columns = "INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE"
            connection.execute(f"CREATE TEMPORARY TABLE {table} (LIKE public.{table} {columns})".encode())
        copying.copy(connection, drawn)
        for table in STAGED:
            names = connection.execute(
                "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = %s::regclass"
                " AND attnum > 0 AND attgenerated = ''",
                [f"public.{table}"],
            ).fetchall()[0][0]
            move = f"INSERT INTO public.{table} ({names}) SELECT {names} FROM pg_temp.{table}"
            connection.execute(move.encode())
            connection.execute(f"DROP TABLE pg_temp.{table}".encode())


def add(connection: Connection, chunk: Prepared) -> None:
    with connection.transaction(), connection.pipeline():
        for parameters in chunk[1]:
            connection.execute(query("add").text, parameters)


WAYS: tuple[Callable[[Connection, Prepared], None], ...] = (copy, staged, add)


def prepared(preparing: Preparing, parts: Sequence[Chunk]) -> list[Prepared]:
    """All chunks; the vectors of `add` are those of the rows."""
    done = []
    for chunk in parts:
        ready = preparing.prepare(chunk.bodies, dry=False).ready
        parameters = []
        for body, one in zip(chunk.bodies, ready, strict=True):
            call = read_add(parse_json(body.data))
            nothing = np.zeros((0, DIMENSIONS), np.float32)
            packed = [np.frombuffer(row[-1][4:], ">f2").astype(np.float32) for row in one.messages]
            addition = Addition(
                call.user_id, call.request_id, call.session_id, call.body_digest, call.messages, np.array(packed),
                (), nothing, Extraction.OFF, None, 0, "",
            )  # fmt: skip
            parameters.append({"user_id": stored_id(call.user_id)[0], **addition_parameters(addition)})
        done.append((ready, parameters))
    return done


def main(
    messages: Annotated[int, typer.Option(min=20)] = 20_000, rounds: Annotated[int, typer.Option(min=1)] = 3
) -> None:
    """Medians of the rounds, the ways in turn."""
    taken: dict[str, list[tuple[float, float]]] = {way.__name__: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="pgrecall-writes-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "logs").mkdir()
        lines = b"".join(json.dumps(body).encode() + b"\n" for body in made(place / "logs", messages))
        with EmbeddedPostgres(place / "data") as postgres:
            preparing = Preparing(Settings(), database(postgres, "nobody"))
            parts = prepared(preparing, list(chunks(BytesIO(lines))))
            preparing.close()
            for number in range(rounds):
                for way in WAYS:
                    with session(database(postgres, f"{way.__name__}_{number}"), "public") as connection:
                        before, start = postgres_seconds(place / "data"), time.perf_counter()
                        for part in parts:
                            way(connection, part)
                        seconds = time.perf_counter() - start
                        taken[way.__name__].append((seconds, postgres_seconds(place / "data") - before))
    table = Table("way", "seconds", "of Postgres", title=f"writing {messages} messages")
    for way_name, times in taken.items():
        seconds, of_postgres = (median(column) for column in zip(*times, strict=True))
        table.add_row(way_name, f"{seconds:.2f}", f"{of_postgres:.2f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
