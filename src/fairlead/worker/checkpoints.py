"""Checkpoints of running handlers on their way to the store.

A checkpoint replaces the one before it. About once a second the new ones leave together in one statement, and none does
while nobody makes any. One that is to be saved now goes at once. When the store is away, checkpoints wait for newer
ones to replace them.
"""

import asyncio
from typing import NamedTuple

from fairlead.core.jobs.checkpoints import LastCheckpoint, NewCheckpoint
from fairlead.core.jobs.model import Claim
from fairlead.errors import LeaseLost, StoreError
from fairlead.handlers.checkpoints import Told
from fairlead.ports.jobs import OpenTransaction
from fairlead.records.store import Store
from fairlead.runtime.periodic import Periodic

EVERY = 1.0
UNASKED = 60.0


class Noted(NamedTuple):
    """A checkpoint that waits, and who hears what became of it."""

    checkpoint: NewCheckpoint
    told: Told


class CheckpointBook:
    """The newest unsaved checkpoint of each run of one worker."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._new: dict[tuple[str, int], Noted] = {}
        self._turn = asyncio.Lock()  # an older checkpoint must not arrive after a newer one
        self._arrived = asyncio.Event()
        self.repeated = Periodic(self._flush, UNASKED, least=EVERY, hurry=self._arrived)

    def note(self, checkpoint: NewCheckpoint, told: Told) -> None:
        """Save a checkpoint within a second, from any thread; LeaseLost where the worker has ended."""
        self._new[checkpoint.id, checkpoint.fence] = Noted(checkpoint, told)
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError as error:
            raise LeaseLost("the worker that ran this job has ended; its checkpoints are not kept any more") from error

    async def save(self, checkpoint: NewCheckpoint, opened: OpenTransaction | None = None) -> LastCheckpoint | None:
        """Save a checkpoint now, or commit it with a handler's transaction; None where the run is over."""
        async with self._turn:
            self._new.pop((checkpoint.id, checkpoint.fence), None)
            if opened is not None:
                return await opened.save(checkpoint)
            return (await self._store.checkpoints.save([checkpoint])).get(checkpoint.id)

    def drop(self, claim: Claim) -> None:
        """Forget the checkpoint of a run that is over."""
        self._new.pop((claim.id, claim.fence), None)

    async def _flush(self) -> None:
        async with self._turn:
            sending, self._new = self._new, {}
            if not sending:
                return
            try:
                saved = await self._store.checkpoints.save([item.checkpoint for item in sending.values()])
            except StoreError:
                self._new = {**sending, **self._new}
                self._arrived.set()
                return
        for item in sending.values():
            item.told(saved.get(item.checkpoint.id))
