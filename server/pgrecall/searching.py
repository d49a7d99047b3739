"""The read path: a question becomes vectors, one statement finds the evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TypeVar

import numpy as np

from pgrecall.concurrently import side_by_side
from pgrecall.contract import SearchCall
from pgrecall.deadline import Deadline
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.segments import blend, embed_texts
from pgrecall.errors import DeadlineExceeded, LanguageRefused, LanguageUnavailable
from pgrecall.language.protocol import LanguageModel
from pgrecall.language.recalling import missing_question, recall_question
from pgrecall.lexical.intent import Intent, intent_of
from pgrecall.lexical.question import LONGEST_READ, asked_terms
from pgrecall.memory import AskedTerm, Caps, FoundMemory, Question, RecallQuestion, StoredState, Vector
from pgrecall.rendering import fitting, line
from pgrecall.stopwords import has_words
from pgrecall.store import Store
from pgrecall.tally import Tally
from pgrecall.temporal.asking import asked
from pgrecall.temporal.expressions import ABSOLUTE, TimeExpression
from pgrecall.versioning import leaving, tags
from pgrecall.versions.asking import Wanted, attributes_asked, wanted
from pgrecall.versions.statements import subject_key
from pgrecall.versions.withholding import Mode

T = TypeVar("T")

ANY_DAY = date(2023, 6, 7)
"""A Wednesday in the middle of a year: tells whether a question names a time at all."""
SMALL = 512
"""Characters of question and answer choices that are read at once, in 0.2 ms: a thread and back cost as much."""
RESERVE = 0.15
"""Share of a search's time that is kept from the language model, for the statement."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a search found, in the order a reader gets it, and what its question wants of time."""

    memories: Sequence[FoundMemory]
    intent: Intent | None = None
    asks_for: Wanted = Wanted.OTHER
    withheld: Sequence[StoredState] = ()
    """What it left out, each memory once, as far as an answer has room for it."""


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
        withhold: Mode = Mode.OFF,
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
        self._withhold = withhold
        self._tally = tally

    async def search(self, call: SearchCall, deadline: Deadline) -> Evidence:
        """The evidence: at most min(top_k, return_limit) memories, and what the question wants of time.

        Raises EmbeddingUnavailable, LanguageUnavailable, DatabaseUnavailable, DeadlineExceeded.
        """
        self._tally.calls["searches"] += 1
        if call.top_k <= 0:
            return Evidence(())
        if not has_words(call.query):
            return Evidence(await self._found(call, Question(as_of=call.as_of), deadline))
        query, recalled = await side_by_side(self._embed(call, deadline), self._recall_question(call, deadline))
        intent = intent_of(call.query)
        times = await self._times(call, recalled, deadline)
        terms = await self._terms(call, recalled, times)
        blended = await self._blended(query, recalled.text if recalled is not None else None, deadline)
        # A query that says nothing to the embedder has no direction: its terms alone, or else the newest.
        first = blended if np.any(blended) else None
        question = Question(
            first,
            None,
            terms,
            tuple((time.first, time.last) for time in times),
            call.as_of,
            newest_first=intent is Intent.LATEST,
        )
        told = await self._told(call, recalled, deadline)
        gone = leaving(told, call.query, question.times, self._withhold) if told else set()
        question = replace(question, withheld=tuple(sorted(gone)))
        if gone:
            self._tally.calls["withheld"] += len(gone)
        memories = await self._found(call, question, deadline)
        missing = await self._missing_question(call, memories, deadline)
        if missing is not None:
            second = await self._blended(query, missing, deadline)
            memories = await self._found(call, replace(question, first=blended, second=second), deadline)
        tagged = await self._tagged(call, memories, deadline)
        left_out = tuple({one.n: one for one in told if one.n in gone}.values())
        return Evidence(tagged, intent, wanted(call.query), left_out[: self._fitting(left_out, tagged)])

    def _fitting(self, withheld: Sequence[StoredState], memories: Sequence[FoundMemory]) -> int:
        """How many of the withheld an answer may list: with its evidence it keeps to the budgets."""
        caps = self._caps
        shown = [line(one.occurred_at, one.speaker, one.content, one.dates) + one.tag for one in memories]
        listed = [line(one.occurred_at, one.speaker, one.content) for one in withheld]
        return fitting(listed, shown, caps.return_char_budget, caps.return_token_budget) if listed else 0

    async def _terms(
        self, call: SearchCall, recalled: RecallQuestion | None, times: tuple[TimeExpression, ...]
    ) -> tuple[AskedTerm, ...]:
        read = partial(
            asked_terms,
            call.query,
            call.options,
            recalled.key_words if recalled is not None else (),
            times,
            number_weight=self._number_weight,
            option_weight=self._option_weight,
        )
        if len(call.query) + sum(map(len, call.options)) <= SMALL:
            return read()
        # In a thread: 64 answer choices may be 1 MB once unfolded, a second in which everyone else would wait.
        return await asyncio.to_thread(read)

    async def _times(
        self, call: SearchCall, recalled: RecallQuestion | None, deadline: Deadline
    ) -> tuple[TimeExpression, ...]:
        """The times that the question names, else those that the model says it means. "Last summer" is counted from
        `as_of`, or else from the user's newest message: only such a question costs a look for that."""
        for text in (call.query, recalled.time if recalled is not None else None):
            if not text or not (named := asked(text := text[:LONGEST_READ], ANY_DAY)):
                continue
            if all(time.rule == ABSOLUTE for time in named):
                return named
            said_on = call.as_of or await self._store.newest(call.user_id, deadline)
            return asked(text, said_on.date() if said_on is not None else None)
        return ()

    async def _told(
        self, call: SearchCall, recalled: RecallQuestion | None, deadline: Deadline
    ) -> Sequence[StoredState]:
        """The states that decide what the question can do without: none where nothing may be withheld. The model
        may say that it asks for something else than the rules take it for; then all stays."""
        what = wanted(call.query)
        mode = {Wanted.CURRENT: Mode.CURRENT, Wanted.DATED: Mode.DATED}.get(what, Mode.OFF)
        doubted = recalled is not None and recalled.asks_for not in (None, what.value)
        if not mode & self._withhold or doubted:
            return ()
        asked_for = [(subject_key(one.subject), one.attribute) for one in attributes_asked(call.query)]
        if not asked_for:
            return ()
        return await self._store.states(call.user_id, asked_for, (), call.as_of, deadline)

    async def _tagged(
        self, call: SearchCall, memories: Sequence[FoundMemory], deadline: Deadline
    ) -> Sequence[FoundMemory]:
        if not self._caps.tagged or not memories:
            return memories
        ns = [memory.n for memory in memories]
        by_n = tags(await self._store.states(call.user_id, (), ns, call.as_of, deadline))
        return [replace(memory, tag=by_n.get(memory.n, "")) for memory in memories]

    async def _found(self, call: SearchCall, question: Question, deadline: Deadline) -> Sequence[FoundMemory]:
        return await self._store.search(call.user_id, question, call.top_k, self._caps, deadline)

    async def _embed(self, call: SearchCall, deadline: Deadline) -> Vector:
        """The query's vector, with a small share of the query among its answer choices where it has any and no
        model makes a question of them."""
        texts = [call.query]
        if call.options and self._model is None and self._option_weight > 0:
            texts.append(" ".join((call.query, *call.options)))
        vectors = await embed_texts(self._embedder, texts, deadline)
        return blend(vectors[0], vectors[-1], min(1.0, self._option_weight)) if len(texts) > 1 else vectors[0]

    async def _blended(self, query: Vector, question: str | None, deadline: Deadline) -> Vector:
        if question is None:
            return query
        vectors = await embed_texts(self._embedder, [question], deadline)
        return blend(query, vectors[0], self._recall_weight)

    async def _recall_question(self, call: SearchCall, deadline: Deadline) -> RecallQuestion | None:
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
        lines = [line(m.occurred_at, m.speaker, m.content, m.dates) for m in evidence]
        return await self._asked(
            deadline, lambda until: missing_question(model, call.query, lines, until, self._recall_tokens)
        )

    async def _asked(self, deadline: Deadline, ask: Callable[[Deadline], Awaitable[T | None]]) -> T | None:
        """The model's question; None where it has none, or fails and need not succeed."""
        try:
            return await ask(Deadline(deadline.seconds * (1 - RESERVE), deadline.start))
        except LanguageRefused:
            return None
        except (LanguageUnavailable, DeadlineExceeded):
            if self._required:
                raise
            return None
