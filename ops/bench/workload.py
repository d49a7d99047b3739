"""Adds and searches without end, for users whose logs grow and whom others follow: the load of the tenth minute is
that of the first."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from ops.bench import gen
from ops.bench.dataset import Conversation, adds, parse

Kind = Literal["add", "search"]

SYNTHETIC = 6
"""Conversations made where no folder is named, of as many messages as LoCoMo's have in the mean."""
SYNTHETIC_MESSAGES = 570


@dataclass(frozen=True, slots=True)
class Sent:
    """One call: what, and its body."""

    kind: Kind
    body: bytes


def synthetic() -> list[Conversation]:
    """Conversations of gen.py, the same ones each time."""
    return [
        parse(f"seed-{seed}", json.loads(gen.written(SYNTHETIC_MESSAGES, 100, seed))) for seed in range(SYNTHETIC)
    ]


class Workload:
    """`users` at once. Each says its conversation once, in order, is asked its questions all along, and gives way
    to a new user. `adding`: share of the calls that are Adds. The first users begin somewhere in their
    conversation, so that not all logs are of one age."""

    def __init__(
        self, conversations: Sequence[Conversation], users: int, adding: float, top_k: int, seed: int = 7
    ) -> None:
        self._random = random.Random(seed)
        self._conversations = conversations
        self._adding = adding
        self._top_k = top_k
        self._prefix = f"load-{secrets.token_hex(4)}"
        self._numbers = count()
        self._users = [self._user(self._random.random()) for _ in range(users)]

    def next(self) -> Sent:
        """The next call."""
        place = self._random.randrange(len(self._users))
        kind: Kind = "add" if self._random.random() < self._adding else "search"
        bodies, questions = self._users[place]
        if kind == "search":
            return Sent(kind, next(questions))
        body = next(bodies, None)
        if body is None:
            self._users[place] = self._user(0.0)
            body = next(self._users[place][0])
        return Sent(kind, body)

    def _user(self, begun: float) -> tuple[Iterator[bytes], Iterator[bytes]]:
        """The Adds of a new user from a share of its conversation on, and its searches without end."""
        conversation = self._conversations[next(self._numbers) % len(self._conversations)]
        name = f"{self._prefix}-{next(self._numbers)}"
        bodies = [json.dumps(body).encode() for session in conversation.sessions for body in adds(session, name)]
        return iter(bodies[int(begun * len(bodies)) :]), self._searches(conversation, name)

    def _searches(self, conversation: Conversation, name: str) -> Iterator[bytes]:
        while True:
            text = self._random.choice(conversation.questions).text
            yield json.dumps({"user_id": name, "query": text, "top_k": self._top_k}).encode()
