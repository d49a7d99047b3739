"""A language model that counts what it is asked and answers, and stops before it costs too much."""

from __future__ import annotations

from dataclasses import dataclass

from pgrecall.deadline import Deadline
from pgrecall.language.protocol import LanguageModel, MalformedReply
from pgrecall.rendering import estimate_tokens


class BudgetSpent(Exception):
    """The next call could cost more than is left."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    asked: float = 0.0
    answered: float = 0.0

    def of(self, asked: int, answered: int) -> float:
        return (asked * self.asked + answered * self.answered) / 1e6


class Metered:
    """Speaks for `model`. Tokens are estimated from above; a call under way counts as if its answer were the
    longest allowed. `most`: US dollars; None: no bound."""

    def __init__(self, model: LanguageModel, prices: Prices, most: float | None) -> None:
        self._model = model
        self._prices = prices
        self._most = most
        self._under_way = 0.0
        self.calls = 0
        self.asked = 0
        self.answered = 0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dollars(self) -> float:
        return self._prices.of(self.asked, self.answered)

    async def reply(self, system: str, user: str, max_tokens: int, deadline: Deadline) -> str:
        """As of the model; raises BudgetSpent as well."""
        asked = estimate_tokens(system) + estimate_tokens(user)
        longest = self._prices.of(asked, max_tokens)
        if self._most is not None and self.dollars + self._under_way + longest > self._most:
            raise BudgetSpent
        self._under_way += longest
        try:
            text = await self._model.reply(system, user, max_tokens, deadline)
        except MalformedReply:
            self.answered += max_tokens  # cut off: paid for in full
            raise
        finally:
            # What failed is paid for as far as it came, which nobody says: its question at least.
            self._under_way -= longest
            self.calls += 1
            self.asked += asked
        self.answered += estimate_tokens(text)
        return text

    async def close(self) -> None:
        await self._model.close()
