"""`pgrecall extract --missing`: facts for what was stored without a language model, or while it failed.

They are as the Add would have drawn them: the same ids, dates and sources. Only their numbers n follow all that was
stored since, where an Add puts them right behind their messages; and of a request of which messages are forgotten,
the model is shown the others. Run again it goes on: what has its facts is not asked for anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import DictRow, TupleRow, dict_row

from pgrecall.bulk.asking import CALL_SECONDS, embedded, tried
from pgrecall.bulk.metering import BudgetSpent, Metered
from pgrecall.bulk.progress import Bar
from pgrecall.deadline import Deadline
from pgrecall.derived import derive, derived_parameters
from pgrecall.drawing import Drawing, Outcome, lines_of, owner
from pgrecall.embedding.protocol import Embedder
from pgrecall.errors import DeadlineExceeded, LanguageUnavailable, StartRefused
from pgrecall.language.prompts import FACTS, PROMPT_VERSION, facts_prompt, keyed_facts_prompt
from pgrecall.memory import DIMENSIONS, Addition, Extraction, Message
from pgrecall.queries import query
from pgrecall.rendering import estimate_tokens, line
from pgrecall.rows import addition_parameters, by_clock
from pgrecall.stating import state_parameters, told_by_facts

MOST_FAILURES = 5
"""Requests in a row that fail three times each, after which the provider is taken to be away."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Connection = psycopg.Connection[TupleRow]


@dataclass(frozen=True, slots=True)
class Undrawn:
    """A request without facts. `ns`: numbers of its messages."""

    user_id: str
    user_key: str
    request_id: str
    request_key: str
    session_id: str
    digest: bytes
    ns: list[int]
    messages: tuple[Message, ...]

    @property
    def lines(self) -> list[str]:
        return [line(m.occurred_at, m.speaker, m.content) for m in self.messages]


@dataclass(slots=True)
class Count:
    """What became of the requests. `stopped`: the money was spent."""

    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Extraction, 0))
    facts: int = 0
    stopped: bool = False
    failed_in_a_row: int = 0

    @property
    def requests(self) -> int:
        return sum(self.outcomes.values())


def undrawn(connection: Connection, user_key: str | None) -> Generator[Undrawn, None, None]:
    """All of them as they are now. The cursor outlives its transaction: hours of calls hold up no vacuum."""
    with connection.cursor(name="undrawn", row_factory=dict_row, withhold=True) as cursor:
        with connection.transaction():
            cursor.execute(query("undrawn").text, {"user_id": user_key})
        for row in cursor:
            yield _undrawn(row)


def asked_tokens(one: Undrawn, keyed: bool) -> int:
    """Of its one call, estimated from above."""
    prompt = facts_prompt(one.lines, owner(one.messages))
    return estimate_tokens(keyed_facts_prompt() if keyed else FACTS) + estimate_tokens(prompt)


async def extract(
    connections: tuple[Connection, Connection],
    embedder: Embedder,
    model: Metered,
    drawing: Drawing,
    *,
    user_key: str | None,
    at_once: int,
    bar: Bar,
) -> Count:
    """Draw and store; of the two connections one reads and one writes. Raises StartRefused where the model is away,
    EmbeddingUnavailable, psycopg's errors."""
    reading, writing = connections
    count = Count()
    with closing(undrawn(reading, user_key)) as source, bar:
        while (batch := list(islice(source, at_once))) and not count.stopped:
            outcomes = await asyncio.gather(*(_outcome(drawing, one) for one in batch))
            answered = [(one, outcome) for one, outcome in zip(batch, outcomes, strict=True) if outcome is not None]
            count.stopped = len(answered) < len(batch)
            await _store(writing, embedder, model.name, answered, count)
            bar.advance(len(answered), count.facts)
            if count.failed_in_a_row >= MOST_FAILURES:
                raise StartRefused(
                    f"The language model failed {count.failed_in_a_row} times in a row: {answered[-1][1].reason}",
                    "What has its facts is stored. Run it again once `pgrecall check` finds the model.",
                )
    return count


async def _outcome(drawing: Drawing, one: Undrawn) -> Outcome | None:
    """None where the money is spent."""
    try:
        return await tried(lambda: drawing.facts(one.messages, one.lines, Deadline(CALL_SECONDS)))
    except BudgetSpent:
        return None
    except (LanguageUnavailable, DeadlineExceeded) as failure:
        return Outcome((), Extraction.FAILED, failure.reason)


async def _store(
    connection: Connection, embedder: Embedder, name: str, answered: Sequence[tuple[Undrawn, Outcome]], count: Count
) -> None:
    """Vectors for all facts in one call, then a transaction for each request."""
    vectors = await embedded(embedder, [lines_of(outcome.facts, one.messages) for one, outcome in answered])
    for (one, outcome), own in zip(answered, vectors, strict=True):
        parameters = _parameters(one, outcome, own, name)
        with connection.transaction():
            connection.execute(query("lock").text, {"user_id": one.user_key})
            written = connection.execute(query("draw").text, parameters).fetchall()
        if written:  # else someone else was faster, or what was said is forgotten
            count.outcomes[outcome.extraction] += 1
            count.facts += len(outcome.facts)
        failed = outcome.extraction is Extraction.FAILED
        count.failed_in_a_row = count.failed_in_a_row + 1 if failed else 0


def _parameters(one: Undrawn, outcome: Outcome, vectors: Any, name: str) -> dict[str, Any]:
    """What sql/draw.sql is given."""
    addition = Addition(
        one.user_id, one.request_id, one.session_id, one.digest, one.messages,
        np.zeros((0, DIMENSIONS), np.float32), outcome.facts, vectors, outcome.extraction, outcome.reason,
        PROMPT_VERSION, name,
    )  # fmt: skip
    dates = [one.messages[fact.sources[0]].occurred_at for fact in outcome.facts]
    drawn = [derive(moment, None, fact.content) for moment, fact in zip(dates, outcome.facts, strict=True)]
    parameters = (
        addition_parameters(addition)
        | derived_parameters(drawn)
        | state_parameters(told_by_facts(one.messages, outcome.facts))
        | {"user_id": one.user_key, "message_ns": one.ns}
    )
    return {known: parameters[known] for known in query("draw").parameters}


def _undrawn(row: DictRow) -> Undrawn:
    """One row of sql/undrawn.sql."""
    return Undrawn(
        _sent(row["user_id"], row["original_user_id"]),
        row["user_id"],
        _sent(row["request_id"], row["original_request_id"]),
        row["request_id"],
        row["session_id"],
        bytes(row["body_digest"]),
        row["ns"],
        tuple(_message(*one) for one in row["messages"]),
    )


def _message(role: str, speaker: str, content: str, dated: bool, said_at: int | None, offset: int) -> Message:
    moment = None if said_at is None else by_clock(_EPOCH + timedelta(microseconds=said_at), offset)
    return Message(role, speaker, content, moment, dated)


def _sent(key: str, original: bytes | None) -> str:
    return key if original is None else bytes(original).decode("utf-8", "surrogatepass")


def counted(waiting: Iterable[Undrawn], keyed: bool) -> tuple[int, int]:
    """Calls, and tokens asked with in all."""
    tokens = [asked_tokens(one, keyed) for one in waiting]
    return len(tokens), sum(tokens)
