"""Bodies become rows, in processes of their own: read, looked up, embedded, analysed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from pgrecall.app import configured_zone, make_embedder, make_language_model
from pgrecall.bulk.carried import (
    AuditLine,
    Carried,
    RequestLine,
    UserLine,
    carried,
    facts_of,
    is_exported,
    read_exported,
)
from pgrecall.bulk.reading import Body
from pgrecall.bulk.ready import Ready, ready
from pgrecall.bulk.session import session
from pgrecall.contract import parse_json, read_add
from pgrecall.deadline import Deadline
from pgrecall.drawing import Drawing, Outcome, lines_of
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.segments import embed_texts
from pgrecall.errors import DeadlineExceeded, EmbeddingUnavailable, InvalidRequest, LanguageUnavailable
from pgrecall.ids import stored_id
from pgrecall.language.prompts import PROMPT_VERSION
from pgrecall.memory import DIMENSIONS, Addition, Extraction, Message, Vectors
from pgrecall.queries import query
from pgrecall.rendering import line
from pgrecall.serving import stop_with_parent
from pgrecall.settings import Settings
from pgrecall.tally import Tally
from pgrecall.temporal.grammar import languages

TRIES = 3
PAUSE = 2.0
"""Seconds before the second try, doubled before the third."""
CALL_SECONDS = 600.0
"""For the embeddings of one chunk, or the facts of one request."""

Known = tuple[int, str, str, bytes, int]
"""A request that is stored already: line, keys of user and request, the digest that the line has, messages."""
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Prepared:
    """What became of the bodies of one chunk. `refused`: line and reason. Of a dry run `ready` is empty, and `new`
    says what would be added: line, keys, digest, messages."""

    ready: list[Ready] = field(default_factory=list)
    audits: list[tuple[str, AuditLine]] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    new: list[Known] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Coming:
    """One request as it was read, without vectors; `outcome` None: facts are still to be drawn."""

    line: int
    addition: Addition
    carried: Carried
    outcome: Outcome | None

    @property
    def key(self) -> tuple[str, str]:
        return stored_id(self.addition.user_id)[0], stored_id(self.addition.request_id)[0]


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
            prepared.new = [
                (one.line, *one.key, one.addition.body_digest, len(one.addition.messages)) for one in coming
            ]
        else:
            prepared.ready = self._runner.run(self._ready(coming))
        return prepared

    def _read(self, body: Body, prepared: Prepared) -> Coming | None:
        try:
            payload = parse_json(body.data)
            if not is_exported(payload):
                call = read_add(payload, self._zone)
                addition = _addition(
                    call.user_id, call.request_id, call.session_id, call.body_digest, call.messages
                )
                return Coming(body.line, addition, Carried.whole(len(call.messages), 0), None)
            assert isinstance(payload, dict)
            exported = read_exported(payload)
        except InvalidRequest as error:
            prepared.refused.append((body.line, error.reason))
            return None
        if isinstance(exported, UserLine):
            prepared.audits.append((stored_id(exported.user_id)[0], exported.audit))
            return None
        return _of_export(body.line, exported)

    def _unknown(self, coming: list[Coming], prepared: Prepared) -> list[Coming]:
        """Those that are not stored, each once."""
        keys = [one.key for one in coming]
        asked = {"user_ids": [user for user, _ in keys], "request_ids": [request for _, request in keys]}
        with self._database.transaction():
            rows = self._database.execute(query("stored").text, asked).fetchall()
        known = {(user, request): bytes(digest) for user, request, digest in rows}
        new = []
        for one in coming:
            digest = known.setdefault(one.key, one.addition.body_digest)
            if digest != one.addition.body_digest:
                prepared.conflicts.append(one.line)
            elif one.key in {(user, request) for user, request, _ in rows}:
                prepared.repeats.append(one.line)
            else:
                new.append(one)
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


def _of_export(number: int, exported: RequestLine) -> Coming:
    addition = _addition(
        exported.user_id,
        exported.request_id,
        exported.session_id,
        exported.digest,
        tuple(one.message for one in exported.messages),
        exported.prompt_version,
        exported.language_model,
    )
    outcome = Outcome(facts_of(exported), exported.extraction, exported.extraction_reason)
    return Coming(number, addition, carried(exported), outcome)


def _addition(
    user_id: str,
    request_id: str,
    session_id: str,
    digest: bytes,
    messages: tuple[Message, ...],
    prompt_version: int = 0,
    language_model: str = "",
) -> Addition:
    nothing = np.zeros((0, DIMENSIONS), np.float32)
    return Addition(
        user_id, request_id, session_id, digest, messages, nothing, (), nothing, Extraction.OFF, None,
        prompt_version, language_model,
    )  # fmt: skip


async def embedded(embedder: Embedder, texts: Sequence[Sequence[str]]) -> list[Vectors]:
    """The vectors of each sequence of texts; all in one call."""
    flat = [text for own in texts for text in own]
    vectors = await tried(lambda: embed_texts(embedder, flat, Deadline(CALL_SECONDS)))
    ends = np.cumsum([len(own) for own in texts], dtype=int)
    return np.split(vectors, ends[:-1]) if texts else []


async def tried(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """The answer of a provider, in three tries."""
    for attempt in range(TRIES - 1):
        try:
            return await call()
        except (EmbeddingUnavailable, LanguageUnavailable, DeadlineExceeded):
            await asyncio.sleep(PAUSE * 2.0**attempt)
    return await call()


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
