"""The question that the owner of a log would ask it, after HyDE (Gao et al. 2022): a query seldom looks
like what was said, "Did I tell you about ...?" does."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.deadline import Deadline
from pgrecall.language.asking import ask
from pgrecall.language.parsing import parse_missing_question, parse_recall_question
from pgrecall.language.prompts import MISSING, RECALL, missing_prompt, recall_prompt
from pgrecall.language.protocol import LanguageModel
from pgrecall.memory import RecallQuestion


async def recall_question(
    model: LanguageModel, query: str, topics: Sequence[str], deadline: Deadline, max_tokens: int
) -> RecallQuestion:
    """One first-person question for `query` (at most 8,000 characters of it are sent), with key words and the
    time it means. `topics`: words of the answer choices, never taken as true.

    Raises LanguageRefused (also for a reply malformed twice), LanguageUnavailable, DeadlineExceeded.
    """
    return await ask(
        model,
        RECALL,
        recall_prompt(query, topics),
        parse_recall_question,
        deadline=deadline,
        max_tokens=max_tokens,
    )


async def missing_question(
    model: LanguageModel, query: str, evidence: Sequence[str], deadline: Deadline, max_tokens: int
) -> str | None:
    """The question for the second round: what `evidence` lacks to answer `query`; None if nothing.

    At most 2,000 characters of each memory and 60,000 of all are sent. Raises as `recall_question`.
    """
    return await ask(
        model,
        MISSING,
        missing_prompt(query, evidence),
        parse_missing_question,
        deadline=deadline,
        max_tokens=max_tokens,
    )
