"""Ask until the reply is well formed, twice at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pgrecall.deadline import Deadline
from pgrecall.errors import LanguageRefused
from pgrecall.language.prompts import AGAIN
from pgrecall.language.protocol import LanguageModel, MalformedReply

T = TypeVar("T")


async def ask(
    model: LanguageModel,
    system: str,
    user: str,
    parse: Callable[[str], T],
    *,
    deadline: Deadline,
    max_tokens: int,
) -> T:
    """`parse` of the model's reply. A malformed one is asked for once more, with a word on its form: at
    temperature 0 the same prompt would only bring the same reply.

    Raises LanguageRefused (also for a reply malformed twice), LanguageUnavailable, DeadlineExceeded.
    """
    for prompt in (user, user + AGAIN):
        try:
            return parse(await model.reply(system, prompt, max_tokens, deadline))
        except MalformedReply:
            continue
    raise LanguageRefused("malformed twice")
