"""Facts from a request's messages."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.deadline import Deadline
from pgrecall.language.asking import ask
from pgrecall.language.parsing import parse_facts
from pgrecall.language.prompts import FACTS, facts_prompt, keyed_facts_prompt
from pgrecall.language.protocol import LanguageModel
from pgrecall.memory import Fact


async def extract(
    model: LanguageModel,
    lines: Sequence[str],
    deadline: Deadline,
    max_tokens: int,
    *,
    owner: str | None = None,
    keyed: bool = False,
) -> list[Fact]:
    """At most 24 facts from `lines`, the rendered messages of one request, in one call; `sources` are
    positions in `lines`. No lines, no call.

    The model gets at most 8,000 characters of a line and 100,000 of all; what is beyond is marked as cut
    and yields no facts (the messages themselves are stored whole). `owner`: the name the owner's lines
    bear, where they are not headed by "I". `keyed`: facts that tell a state say whose, which and what; a reply may
    then be twice as long.

    Raises LanguageRefused (also for a reply malformed twice), LanguageUnavailable, DeadlineExceeded.
    """
    if not lines:
        return []
    return await ask(
        model,
        keyed_facts_prompt() if keyed else FACTS,
        facts_prompt(lines, owner),
        lambda reply: parse_facts(reply, lines),
        deadline=deadline,
        max_tokens=2 * max_tokens if keyed else max_tokens,
    )
