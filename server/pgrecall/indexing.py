"""The vectors of large logs go into the index over all users, behind the Adds: within one they would cost it 44
times its time. A search finds at every moment what is there already and scans the rest (sql/search.sql)."""

from __future__ import annotations

import asyncio
import logging

from pgrecall.deadline import Deadline
from pgrecall.store import Store

logger = logging.getLogger("pgrecall")

BATCH = 100
"""Memories copied at once: some 0.5 s."""
BATCH_SECONDS = 60.0
PAUSE_SECONDS = 2.0
"""Between two looks for logs that wait."""


class Indexing:
    """One pass after another over the users whose logs hold more than `index_from` memories."""

    def __init__(self, store: Store, index_from: int, pause: float = PAUSE_SECONDS) -> None:
        self._store = store
        self._index_from = index_from
        self._pause = pause

    async def run(self) -> None:
        """Until cancelled. Whatever fails, a database that is away or another, is tried again after the pause."""
        while True:
            try:
                await self.once()
            except Exception as error:
                logger.warning("the index of large logs is put off: %s", type(error).__name__)
            await asyncio.sleep(self._pause)

    async def once(self) -> int:
        """Copy all that waits, a batch of each log in turn; how many memories that were. Raises as Store.run."""
        memories = 0
        while batch := await self._round():
            memories += batch
        return memories

    async def _round(self) -> int:
        memories = 0
        user = await self._store.unindexed("", self._index_from, Deadline(BATCH_SECONDS))
        while user is not None:
            memories += await self._store.index(user, BATCH, Deadline(BATCH_SECONDS))
            user = await self._store.unindexed(user, self._index_from, Deadline(BATCH_SECONDS))
        return memories
