"""Bodies become rows, in processes of their own: read, looked up, embedded, analysed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from pgrecall.app import configured_zone, make_embedder, make_language_model
from pgrecall.bulk.asking import CALL_SECONDS, embedded, tried
from pgrecall.bulk.carried import AuditLine, Carried, UserLine
from pgrecall.bulk.coming import Coming, read
from pgrecall.bulk.reading import Body
from pgrecall.bulk.ready import Ready, ready
from pgrecall.bulk.session import session
from pgrecall.deadline import Deadline
from pgrecall.drawing import Drawing, Outcome, lines_of
from pgrecall.errors import InvalidRequest
from pgrecall.ids import stored_id
from pgrecall.language.prompts import PROMPT_VERSION
from pgrecall.memory import Addition, Vectors
from pgrecall.queries import query
from pgrecall.rendering import line
from pgrecall.serving import stop_with_parent
from pgrecall.settings import Settings
from pgrecall.tally import Tally
from pgrecall.temporal.grammar import languages


@dataclass(slots=True)
class Prepared:
    """What became of the bodies of one chunk. `refused`: line and reason. Of a dry run `ready` is empty, and `new`
    holds the numbers of messages of what would be added."""

    ready: list[Ready] = field(default_factory=list)
    audits: list[tuple[str, AuditLine]] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    new: list[int] = field(default_factory=list)


class Preparing:
    """One process' share of an import."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._zone = configured_zone(settings.timezone)
        self._embedder = make_embedder(settings)
        self._model = make_language_model(settings) if settings.extract else None
        self._drawing = Drawing(
            self._model,
            required=settings.llm_mode == "required",
            fact_tokens=settings.llm_fact_tokens,
            keyed=settings.fact_keys,
            tally=Tally(),
        )
        self._database = session(url, settings.database_schema)
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._database.close()
        self._runner.run(self._embedder.close())
        if self._model is not None:
            self._runner.run(self._model.close())
        self._runner.close()

    def prepare(self, bodies: Sequence[Body], dry: bool) -> Prepared:
        """Raises psycopg's errors, and after three tries EmbeddingUnavailable, LanguageUnavailable,
        DeadlineExceeded."""
        prepared = Prepared()
        coming = self._unknown([one for body in bodies if (one := self._read(body, prepared))], prepared)
        if dry:
            prepared.new = [len(one.addition.messages) for one in coming]
        else:
            prepared.ready = self._runner.run(self._ready(coming))
        return prepared

    def _read(self, body: Body, prepared: Prepared) -> Coming | None:
        try:
            one = read(body, self._zone)
        except InvalidRequest as error:
            prepared.refused.append((body.line, error.reason))
            return None
        if isinstance(one, UserLine):
            prepared.audits.append((stored_id(one.user_id)[0], one.audit))
            return None
        return one

    def _unknown(self, coming: list[Coming], prepared: Prepared) -> list[Coming]:
        """Those that are not stored, each once."""
        keys = [one.key for one in coming]
        asked = {"user_ids": [user for user, _ in keys], "request_ids": [request for _, request in keys]}
        rows = self._database.execute(query("stored").text, asked).fetchall()
        known = {(user, request): bytes(digest) for user, request, digest in rows}
        new = []
        for one in coming:
            if one.key not in known:
                known[one.key] = one.addition.body_digest
                new.append(one)
            elif known[one.key] == one.addition.body_digest:
                prepared.repeats.append(one.line)
            else:
                prepared.conflicts.append(one.line)
        return new

    async def _ready(self, coming: list[Coming]) -> list[Ready]:
        """Vectors for all of them in one call; facts for each that asks for some, side by side."""
        said = [[line(m.occurred_at, m.speaker, m.content) for m in one.addition.messages] for one in coming]
        vectors = await embedded(self._embedder, said)
        outcomes = await asyncio.gather(*(self._outcome(one, own) for one, own in zip(coming, said, strict=True)))
        told = [
            lines_of(outcome.facts, one.addition.messages) for one, outcome in zip(coming, outcomes, strict=True)
        ]
        fact_vectors = await embedded(self._embedder, told)
        return [self._one(*parts) for parts in zip(coming, vectors, outcomes, fact_vectors, strict=True)]

    async def _outcome(self, one: Coming, said: list[str]) -> Outcome:
        if one.outcome is not None:
            return one.outcome
        return await tried(lambda: self._drawing.facts(one.addition.messages, said, Deadline(CALL_SECONDS)))

    def _one(self, one: Coming, vectors: Vectors, outcome: Outcome, fact_vectors: Vectors) -> Ready:
        addition = one.addition
        drawn = one.outcome is None
        whole = Addition(
            addition.user_id, addition.request_id, addition.session_id, addition.body_digest, addition.messages,
            vectors, outcome.facts, fact_vectors, outcome.extraction, outcome.reason,
            PROMPT_VERSION if drawn else addition.prompt_version,
            self._drawing.name if drawn else addition.language_model,
        )  # fmt: skip
        told = Carried.whole(len(addition.messages), len(outcome.facts)) if drawn else one.carried
        return ready(one.line, whole, told)


_preparing: Preparing | None = None


def start(settings: Settings, url: str) -> None:
    """Runs first in each process. Ctrl-C is for the one that started it, with which it ends."""
    global _preparing
    stop_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Each process has a core to itself: the tokenizer's own threads would only take turns with the others'.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    languages()
    _preparing = Preparing(settings, url)
    # Nearly all that is made here lives for one chunk: looking for cycles in it took a fifth of the time.
    gc.freeze()
    gc.disable()


def prepare(bodies: Sequence[Body], dry: bool) -> Prepared:
    """In a process that has started."""
    assert _preparing is not None
    gc.collect()
    return _preparing.prepare(bodies, dry)
