"""How a worker learns that jobs it runs are to be cancelled: at once by a hint, and now and then by asking.

It asks only while it has jobs, so that an idle worker asks nothing.
"""

import asyncio
import contextlib

from fairlead.errors import StoreError
from fairlead.records.store import Store
from fairlead.worker.slots import Slots

LOOK_EVERY = 3.0


class CancelWatch:
    """Tells the slots of one worker."""

    def __init__(self, store: Store, owner: str, slots: Slots) -> None:
        self._store = store
        self._owner = owner
        self._slots = slots
        self._hinted = asyncio.Event()

    def hint(self) -> None:
        """Somebody may have asked."""
        self._hinted.set()

    async def run(self) -> None:
        """Look at each hint, and every few seconds, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._hinted.wait()
            self._hinted.clear()
            with contextlib.suppress(StoreError):  # the next look asks again
                await self.look()

    async def look(self) -> None:
        """Ask what is wanted of the jobs in this worker's hands."""
        if self._slots.taken:
            self._slots.cancel(await self._store.changes.cancel_requests(self._owner))
