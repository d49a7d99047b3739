"""The facts that a language model draws from the messages of one request, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgrecall.deadline import Deadline
from pgrecall.errors import DeadlineExceeded, LanguageRefused, LanguageUnavailable
from pgrecall.language.extraction import extract
from pgrecall.language.protocol import LanguageModel
from pgrecall.memory import Extraction, Fact, Message
from pgrecall.rendering import line
from pgrecall.tally import Tally

RESERVE = 0.15
"""Share of an Add's time that is kept from the language model, for the facts' vectors and the write."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of a request, or why there are none."""

    facts: tuple[Fact, ...]
    extraction: Extraction
    reason: str | None = None


class Drawing:
    """`model` None: no facts are drawn. `keyed`: it is asked which states they tell. `required`: its failure is
    raised, where another try may pass."""

    def __init__(
        self, model: LanguageModel | None, *, required: bool, fact_tokens: int, keyed: bool, tally: Tally
    ) -> None:
        self._model = model
        self._required = required
        self._fact_tokens = fact_tokens
        self._keyed = keyed
        self._tally = tally

    @property
    def name(self) -> str:
        """The model's, "" without one."""
        return "" if self._model is None else self._model.name

    async def facts(self, messages: Sequence[Message], lines: Sequence[str], deadline: Deadline) -> Outcome:
        """From the rendered `lines` of `messages`. Raises LanguageUnavailable, DeadlineExceeded where required."""
        if self._model is None or not lines:
            return Outcome((), Extraction.OFF)
        until = Deadline(deadline.seconds * (1 - RESERVE), deadline.start)
        try:
            facts = await extract(
                self._model, lines, until, self._fact_tokens, owner=owner(messages), keyed=self._keyed
            )
        except LanguageRefused as refusal:
            self._tally.extraction_failing = True
            return Outcome((), Extraction.REFUSED, refusal.reason)
        except (LanguageUnavailable, DeadlineExceeded) as failure:
            self._tally.extraction_failing = True
            if self._required:
                raise
            return Outcome((), Extraction.FAILED, failure.reason)
        self._tally.extraction_failing = False
        return Outcome(tuple(facts), Extraction.DONE)


def lines_of(facts: Sequence[Fact], messages: Sequence[Message]) -> list[str]:
    """The rendered lines: a fact bears the date of the first message that it rests on."""
    return [line(messages[fact.sources[0]].occurred_at, None, fact.content) for fact in facts]


def owner(messages: Sequence[Message]) -> str | None:
    """The name that the owner's lines bear; None where that is "I", or several speak under that role."""
    names = {message.speaker for message in messages if message.role.casefold() == "user"}
    return names.pop() if len(names) == 1 and "I" not in names else None
