"""The write path: what was said becomes messages, facts and vectors, stored all at once."""

from __future__ import annotations

import asyncio

import numpy as np

from pgrecall.concurrently import side_by_side
from pgrecall.contract import AddCall
from pgrecall.deadline import Deadline
from pgrecall.drawing import Drawing, lines_of
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.segments import embed_texts
from pgrecall.errors import RequestConflict
from pgrecall.language.prompts import PROMPT_VERSION
from pgrecall.language.protocol import LanguageModel
from pgrecall.memory import DIMENSIONS, Addition, Vectors
from pgrecall.rendering import line
from pgrecall.store import Store
from pgrecall.tally import Tally


class Adding:
    """`model` None: no facts are drawn. `keyed`: it is asked which states they tell. `required`: a model that may
    recover makes the Add a 503."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        model: LanguageModel | None,
        *,
        required: bool,
        fact_tokens: int,
        keyed: bool = False,
        tally: Tally,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._drawing = Drawing(model, required=required, fact_tokens=fact_tokens, keyed=keyed, tally=tally)
        self._tally = tally
        self._under_way: dict[tuple[str, str, bytes], asyncio.Task[None]] = {}

    async def add(self, call: AddCall, deadline: Deadline) -> None:
        """Returns once all of it is durable and searchable, or was so before.

        Identical calls under way in this process share one run. Raises RequestConflict,
        EmbeddingUnavailable, LanguageUnavailable, DatabaseUnavailable, DeadlineExceeded.
        """
        key = (call.user_id, call.request_id, call.body_digest)
        run = self._under_way.get(key)
        if run is None:
            run = asyncio.create_task(self._run(call, deadline))
            self._under_way[key] = run
            run.add_done_callback(lambda ended: self._ended(key, ended))
        async with deadline.enforced():
            # Shielded: who leaves does not take the others' run away.
            await asyncio.shield(run)

    def _ended(self, key: tuple[str, str, bytes], run: asyncio.Task[None]) -> None:
        del self._under_way[key]
        if not run.cancelled():
            run.exception()  # seen, also where every caller has left

    async def _run(self, call: AddCall, deadline: Deadline) -> None:
        digest = await self._store.look(call.user_id, call.request_id, deadline)
        if digest is None:
            addition = await self._prepare(call, deadline)
            digest, stored = await self._store.add(addition, deadline)
            if stored:
                self._tally.calls["adds"] += 1
                self._tally.extraction[addition.extraction.value] += 1
                return
        if digest != call.body_digest:
            raise RequestConflict(
                "this request_id was stored before with another body; nothing of this one was written"
            )
        self._tally.calls["repeats"] += 1

    async def _prepare(self, call: AddCall, deadline: Deadline) -> Addition:
        lines = [line(m.occurred_at, m.speaker, m.content) for m in call.messages]
        vectors, outcome = await side_by_side(
            self._embed(lines, deadline), self._drawing.facts(call.messages, lines, deadline)
        )
        fact_lines = lines_of(outcome.facts, call.messages)
        return Addition(
            user_id=call.user_id,
            request_id=call.request_id,
            session_id=call.session_id,
            body_digest=call.body_digest,
            messages=call.messages,
            message_vectors=vectors,
            facts=outcome.facts,
            fact_vectors=await self._embed(fact_lines, deadline),
            extraction=outcome.extraction,
            extraction_reason=outcome.reason,
            prompt_version=PROMPT_VERSION,
            language_model=self._drawing.name,
        )

    async def _embed(self, texts: list[str], deadline: Deadline) -> Vectors:
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        return await embed_texts(self._embedder, texts, deadline)
