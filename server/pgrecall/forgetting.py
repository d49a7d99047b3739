"""Forgetting and restoring: what a user wants out of every search, or back."""

from __future__ import annotations

import uuid

from pgrecall.contract import ForgetCall, RestoreCall
from pgrecall.deadline import Deadline
from pgrecall.memory import Forgotten
from pgrecall.store import Store
from pgrecall.tally import Tally


class Forgetting:
    """Done when it answers: a search that begins later finds nothing of it, in no channel."""

    def __init__(self, store: Store, tally: Tally) -> None:
        self._store = store
        self._tally = tally

    async def forget(self, call: ForgetCall, deadline: Deadline) -> Forgotten:
        """Hide, or erase. Raises DatabaseUnavailable, DeadlineExceeded."""
        self._tally.calls["forgets"] += 1
        return await self._store.forget(call.user_id, call.selection, uuid.uuid4(), call.erase, deadline)

    async def restore(self, call: RestoreCall, deadline: Deadline) -> Forgotten:
        """Bring back what is hidden. Raises DatabaseUnavailable, DeadlineExceeded."""
        self._tally.calls["restores"] += 1
        return await self._store.restore(call.user_id, call.selection, uuid.uuid4(), deadline)
