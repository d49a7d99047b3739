"""The time a call has, from its arrival."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pgrecall.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """`seconds` from `start` (time.monotonic()). A proxy cuts at 100 s: the default is 80."""

    seconds: float
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.start + self.seconds - time.monotonic())

    def clip(self, seconds: float) -> float:
        """`seconds`, or what is left if that is less. Raises DeadlineExceeded when nothing is left."""
        left = self.left
        if left <= 0:
            raise DeadlineExceeded("the call's time was used up; send it again")
        return min(seconds, left)

    @asynccontextmanager
    async def enforced(self) -> AsyncIterator[None]:
        """Cancel the block when the time is up, and raise DeadlineExceeded."""
        try:
            async with asyncio.timeout(self.left):
                yield
        except TimeoutError as error:
            raise DeadlineExceeded("the call's time was used up; send it again") from error
