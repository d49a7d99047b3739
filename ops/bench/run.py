"""One run of the replay: every conversation added, every question asked, for users of its own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any, TypedDict

import httpx2
from rich.progress import Progress, TaskID

from ops.bench.caller import CallFailed, Job, Phase, call, work_off
from ops.bench.dataset import Conversation, Question, Session, adds
from ops.bench.scoring import Returned, Scored, TurnFinder, ranks, reaches


class Outcome(TypedDict):
    """One question of a run, as it is saved. `contents` in the order of the answer."""

    conversation: str
    question: int
    category: int
    evidence: list[str]
    ranks: list[int | None]
    contents: list[str]


class Run:
    """Drives a server with `workers` calls at once; `outcomes` are in the data set's order afterwards."""

    def __init__(self, client: httpx2.AsyncClient, prefix: str, top_k: int, workers: int, options: int = 0) -> None:
        self._client = client
        self._prefix = prefix
        self._top_k = top_k
        self._workers = workers
        self._options = options
        self.adds = Phase()
        self.searches = Phase()
        self.outcomes: list[Outcome] = []

    async def add(self, conversations: list[Conversation], progress: Progress) -> None:
        """Add everything: sessions side by side, the Adds of one session in order."""
        bar = progress.add_task("Add, messages", total=sum(len(one.turns) for one in conversations))

        def jobs() -> Iterator[Job]:
            for conversation in conversations:
                for session in conversation.sessions:
                    yield partial(self._add, session, self._user_id(conversation), progress, bar)

        with self.adds.timed():
            await work_off(jobs(), self._workers)

    async def search(self, conversations: list[Conversation], progress: Progress) -> None:
        """Ask every question that has evidence."""
        bar = progress.add_task("Search, questions", total=sum(len(one.questions) for one in conversations))

        def jobs() -> Iterator[Job]:
            for conversation in conversations:
                finder = TurnFinder(conversation.turns)
                for question in conversation.questions:
                    yield partial(self._search, conversation, finder, question, progress, bar)

        with self.searches.timed():
            await work_off(jobs(), self._workers)
        self.outcomes.sort(key=lambda outcome: (outcome["conversation"], outcome["question"]))

    async def _add(self, session: Session, user_id: str, progress: Progress, bar: TaskID) -> None:
        for body in adds(session, user_id):
            try:
                echoed(await call(self._client, "/add", body, self.adds), body)
            except CallFailed as error:
                self.adds.errors[str(error)] += 1
            progress.advance(bar, len(body["messages"]))

    async def _search(
        self,
        conversation: Conversation,
        finder: TurnFinder,
        question: Question,
        progress: Progress,
        bar: TaskID,
    ) -> None:
        body = {"query": question.text, "user_id": self._user_id(conversation), "top_k": self._top_k}
        if self._options:
            body["options"] = answer_choices(conversation, question, self._options)
        returned: list[Returned] = []
        try:
            returned = memories(await call(self._client, "/search", body, self.searches), self._top_k)
        except CallFailed as error:
            self.searches.errors[str(error)] += 1
        self.outcomes.append(
            {
                "conversation": conversation.name,
                "question": question.number,
                "category": question.category,
                "evidence": list(question.evidence),
                "ranks": ranks(question.evidence, finder.turn_ids(returned)),
                "contents": [memory.content for memory in returned],
            }
        )
        progress.advance(bar)

    def _user_id(self, conversation: Conversation) -> str:
        return f"{self._prefix}-{conversation.name}"


def answer_choices(conversation: Conversation, question: Question, count: int) -> list[str]:
    """The right answer among those of other questions of the conversation, the same ones each time."""
    choice = random.Random(f"{conversation.name} {question.number}")
    others = sorted({one.answer for one in conversation.questions} - {question.answer, ""})
    choices = [question.answer, *choice.sample(others, min(count - 1, len(others)))]
    choice.shuffle(choices)
    return choices


def echoed(answer: dict[str, Any], body: dict[str, Any]) -> None:
    """Raises CallFailed where an Add's answer does not give its ids back."""
    if any(answer.get(key) != body[key] for key in ("request_id", "user_id", "session_id")):
        raise CallFailed("ids not echoed")


def memories(answer: dict[str, Any], top_k: int) -> list[Returned]:
    """The memories of a search's answer. Raises CallFailed where it breaks the contract."""
    data = answer.get("data")
    if not isinstance(data, list) or len(data) > top_k:
        raise CallFailed("data is no list of at most top_k")
    if any(not isinstance(one, dict) or not isinstance(one.get("content"), str) for one in data):
        raise CallFailed("a memory without content")
    if len({one.get("id") for one in data}) < len(data):
        raise CallFailed("an id twice")
    return [Returned(one["content"], str(one.get("created_at") or "")) for one in data]


def scored(outcome: Outcome) -> Scored:
    """What the tables need of an outcome."""
    contents = outcome["contents"]
    return Scored(outcome["category"], outcome["ranks"], sum(map(len, contents)), reaches(contents))


def differences(first: list[Outcome], second: list[Outcome]) -> list[str]:
    """The questions (`conversation#number`) that did not get the same contents in the same order."""
    one, other = (
        {(outcome["conversation"], outcome["question"]): outcome["contents"] for outcome in run}
        for run in (first, second)
    )
    different = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    return [f"{conversation}#{number}" for conversation, number in different]
