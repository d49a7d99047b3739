"""What every language model backend promises."""

from __future__ import annotations

from typing import Protocol

from pgrecall.deadline import Deadline


class MalformedReply(Exception):
    """The reply was cut off, empty, or not of the form that was asked for. The text is not kept."""


class LanguageModel(Protocol):
    """One chat completion at temperature 0 with a fixed seed."""

    @property
    def name(self) -> str:
        """The model's name, kept on each fact it drew."""
        ...

    async def reply(self, system: str, user: str, max_tokens: int, deadline: Deadline) -> str:
        """The text of the reply, complete.

        Raises LanguageUnavailable (may pass), LanguageRefused (will not), MalformedReply (cut off or
        empty), DeadlineExceeded.
        """
        ...

    async def close(self) -> None: ...
