"""The read path: a question becomes vectors, one statement finds the evidence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from pgrecall.concurrently import side_by_side
from pgrecall.contract import SearchCall
from pgrecall.deadline import Deadline
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.segments import blend, embed_texts
from pgrecall.errors import DeadlineExceeded, LanguageRefused, LanguageUnavailable
from pgrecall.language.protocol import LanguageModel
from pgrecall.language.recalling import missing_question, recall_question
from pgrecall.lexical.question import asked_terms
from pgrecall.memory import Caps, FoundMemory, Question, Vector
from pgrecall.rendering import line
from pgrecall.stopwords import has_words
from pgrecall.store import Store
from pgrecall.tally import Tally

RESERVE = 0.15
"""Share of a search's time that is kept from the language model, for the statement."""


class Searching:
    """`model` asks the recall question, `second_model` the one of a second round; None: neither is asked.
    `required`: a model that may recover makes the search a 503."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        model: LanguageModel | None,
        second_model: LanguageModel | None,
        *,
        required: bool,
        recall_weight: float,
        recall_tokens: int,
        number_weight: float,
        option_weight: float,
        caps: Caps,
        tally: Tally,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._model = model
        self._second_model = second_model
        self._required = required
        self._recall_weight = recall_weight
        self._recall_tokens = recall_tokens
        self._number_weight = number_weight
        self._option_weight = option_weight
        self._caps = caps
        self._tally = tally

    async def search(self, call: SearchCall, deadline: Deadline) -> Sequence[FoundMemory]:
        """The evidence, in the order a reader gets it; at most min(top_k, return_limit) memories.

        Raises EmbeddingUnavailable, LanguageUnavailable, DatabaseUnavailable, DeadlineExceeded.
        """
        self._tally.calls["searches"] += 1
        if call.top_k <= 0:
            return []
        if not has_words(call.query):
            return await self._found(call, Question(), deadline)
        query, question = await side_by_side(
            self._embed(call.query, deadline), self._recall_question(call, deadline)
        )
        asked = asked_terms(
            call.query,
            call.options,
            number_weight=self._number_weight,
            option_weight=self._option_weight,
        )
        blended = await self._blended(query, question, deadline)
        # A query that says nothing to the embedder has no direction: its terms alone, or else the newest.
        first = blended if np.any(blended) else None
        evidence = await self._found(call, Question(first, None, asked), deadline)
        missing = await self._missing_question(call, evidence, deadline)
        if missing is None:
            return evidence
        second = await self._blended(query, missing, deadline)
        return await self._found(call, Question(blended, second, asked), deadline)

    async def _found(self, call: SearchCall, question: Question, deadline: Deadline) -> Sequence[FoundMemory]:
        return await self._store.search(call.user_id, question, call.top_k, self._caps, deadline)

    async def _embed(self, text: str, deadline: Deadline) -> Vector:
        vector: Vector = (await embed_texts(self._embedder, [text], deadline))[0]
        return vector

    async def _blended(self, query: Vector, question: str | None, deadline: Deadline) -> Vector:
        if question is None:
            return query
        return blend(query, await self._embed(question, deadline), self._recall_weight)

    async def _recall_question(self, call: SearchCall, deadline: Deadline) -> str | None:
        model = self._model
        if model is None:
            return None
        return await self._asked(
            deadline,
            lambda until: recall_question(model, call.query, call.options, until, self._recall_tokens),
        )

    async def _missing_question(
        self, call: SearchCall, evidence: Sequence[FoundMemory], deadline: Deadline
    ) -> str | None:
        model = self._second_model
        if model is None:
            return None
        lines = [line(memory.occurred_at, memory.speaker, memory.content) for memory in evidence]
        return await self._asked(
            deadline, lambda until: missing_question(model, call.query, lines, until, self._recall_tokens)
        )

    async def _asked(self, deadline: Deadline, ask: Callable[[Deadline], Awaitable[str | None]]) -> str | None:
        """The model's question; None where it has none, or fails and need not succeed."""
        try:
            return await ask(Deadline(deadline.seconds * (1 - RESERVE), deadline.start))
        except LanguageRefused:
            return None
        except (LanguageUnavailable, DeadlineExceeded):
            if self._required:
                raise
            return None
