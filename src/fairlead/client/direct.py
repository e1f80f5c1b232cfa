"""Submitting on the thread of a blocking caller, past the bridge, where the store can do that now.

Nothing is decided or read there that belongs to the client's event loop: while rules of admission are in force, or what
the client knows is to be read again, and also where the store is away, callers take the way over the loop.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from fairlead.client.blocking import Bridge
from fairlead.client.gather import PATIENCE, Gatherer, hints
from fairlead.client.places import Places
from fairlead.client.wakeups import Waker
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.errors import StoreUnavailable
from fairlead.records.store import Store


class Direct(NamedTuple):
    """Submits from any thread that may block, for the client of the bridge's loop."""

    store: Store
    gatherer: Gatherer
    waker: Waker
    places: Places
    bridge: Bridge
    loop: asyncio.AbstractEventLoop

    def submit(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Store the jobs and wake the workers they are for; returns when they are durable.

        A store that is away is waited for on the loop, unless the app was shut down meanwhile.
        """
        give_up = time.monotonic() + PATIENCE
        try:
            answers = self.bridge.run_here(self._store_and_wake, jobs)
        except StoreUnavailable:
            if time.monotonic() > give_up or self.bridge.loop_in_reach() is not self.loop:
                raise
            return self.bridge.run(self.gatherer.submit_again(jobs, give_up))
        if answers is None and self.bridge.loop_in_reach() is not self.loop:
            raise StoreUnavailable("the app was shut down while this job was submitted; nothing was stored")
        return self.bridge.run(self.gatherer.submit(jobs)) if answers is None else answers

    def _store_and_wake(self, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        wanted = hints(jobs)
        due = self.waker.due_anywhere(wanted)
        answers = self.store.jobs.enqueue_now(jobs, due)
        if answers is not None:
            unsent = self.waker.leave(wanted - due, self.loop)
            if unsent:
                self.store.jobs.wake_now(unsent)
        return answers
