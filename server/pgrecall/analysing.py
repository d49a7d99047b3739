"""Terms for what was stored without them: before this version, by an older analysis, by an older server."""

from __future__ import annotations

import asyncio
import logging

from pgrecall.deadline import Deadline
from pgrecall.errors import DatabaseUnavailable
from pgrecall.store import Store

logger = logging.getLogger("pgrecall")

BATCH = 500
"""Memories analysed and written at once: some 0.1 s, in which an Add of that user waits."""
BATCH_SECONDS = 60.0
PAUSE_SECONDS = 60.0
"""Between two looks for logs that wait."""


class Analysing:
    """One pass after another over the users whose logs wait; searches find such memories by their vectors."""

    def __init__(self, store: Store, pause: float = PAUSE_SECONDS) -> None:
        self._store = store
        self._pause = pause

    async def run(self) -> None:
        """Until cancelled. Whatever fails, a database that is away or another, is tried again after the pause."""
        while True:
            try:
                memories = await self.once()
                if memories:
                    logger.info("analysed the words of %d memories stored before", memories)
            except Exception as error:
                logger.warning("the analysis of stored memories is put off: %s", type(error).__name__)
            await asyncio.sleep(self._pause)

    async def once(self) -> int:
        """Analyse all that waits; how many memories that were. Raises as Store.run."""
        memories = 0
        user = await self._store.unanalysed("", Deadline(BATCH_SECONDS))
        while user is not None:
            memories += await self._log_of(user)
            user = await self._store.unanalysed(user, Deadline(BATCH_SECONDS))
        return memories

    async def _log_of(self, user: str) -> int:
        """One user's log; where that fails, the others have their turn and this one the next time."""
        memories = 0
        try:
            while batch := await self._store.analyse(user, BATCH, Deadline(BATCH_SECONDS)):
                memories += batch
        except DatabaseUnavailable:
            raise
        except Exception as error:
            logger.warning("the analysis of one log is put off: %s", type(error).__name__)
        return memories
