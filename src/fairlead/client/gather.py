"""Concurrent submissions become few statements; each caller still waits for its own commit.

A lone caller goes straight to the store and never waits for company. Those who come while it is on its way are
collected and leave together. Where the store writes several transactions at once, at most half of all that are known
leave with one: it is at work for one half while the callers of the other make what they submit next.

A batch whose connection broke is repeated with the same ids until it is known to be stored or the patience is over,
so that no caller gets two jobs for one call.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.core.jobs.states import READY, SCHEDULED
from fairlead.errors import FairleadError, StoreUnavailable
from fairlead.ports.jobs import SCHEDULED_HINT, DepthBound
from fairlead.records.store import Store
from fairlead.runtime.hints import HintSender

BATCH = 1000
ABREAST = 2  # batches that are on their way at once
FEW = 8  # submissions that are not worth two commits
SOON = 60.0
PATIENCE = 10.0

Bounds = Sequence[DepthBound]


class Waiting(NamedTuple):
    """A submission that waits for its batch."""

    jobs: Sequence[NewJob]
    bounds: Bounds
    answers: "asyncio.Future[list[Enqueued]]"


class Gatherer:
    """Collects submissions on one event loop; those of a lone caller go straight to the store."""

    def __init__(self, store: Store, waker: HintSender) -> None:
        self._store = store
        self._waker = waker
        self.abreast = min(ABREAST, store.jobs.writers)
        self._waiting: list[Waiting] = []
        self._under_way = 0  # submissions that were sent and have no answer yet
        self._sending = 0  # batches or lone callers that are on their way
        self._senders: set[asyncio.Task[None]] = set()
        self._attending = False  # whether somebody will look at those who wait, in the next turn of the loop

    async def submit(self, jobs: Sequence[NewJob], bounds: Bounds = ()) -> list[Enqueued]:
        """Store the jobs, together with what others submit; returns when they are durable."""
        if any(job.unique for job in jobs):  # whose key somebody may hold for a while: nobody else waits for that
            return await self.send(jobs, bounds)
        if not self._sending:
            return await self._submit_alone(jobs, bounds)
        future: asyncio.Future[list[Enqueued]] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(jobs, bounds, future))
        if not self._attending and self._is_worth_sending():
            self._attending = True
            asyncio.get_running_loop().call_soon(self._attend)  # with all who come in this turn of the loop
        return await future

    async def send(self, jobs: Sequence[NewJob], bounds: Bounds = ()) -> list[Enqueued]:
        """Store the jobs now and alone, as fits a large batch. A hint that is due goes with the commit."""
        wanted = hints(jobs)
        due = self._waker.due(wanted)
        answers = await store_patiently(self._store, jobs, bounds, due)
        self._waker.wake(wanted - due)
        return answers

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._senders:
            await asyncio.wait(self._senders)
        await self._waker.close()

    async def _submit_alone(self, jobs: Sequence[NewJob], bounds: Bounds) -> list[Enqueued]:
        """Nobody else is waiting; whoever comes meanwhile is served by a task."""
        self._sending += 1
        self._under_way += 1
        try:
            return await self.send(jobs, bounds)
        finally:
            self._under_way -= 1
            self._sending -= 1
            self._attend()

    def _attend(self) -> None:
        """Send those who wait, unless as many batches as may be are on their way."""
        self._attending = False
        self._waiting = [item for item in self._waiting if not item.answers.cancelled()]
        while self._is_worth_sending():
            batch = self._next_batch()
            self._sending += 1
            self._under_way += len(batch)
            sender = asyncio.create_task(self._send(batch), name="fairlead-enqueue")
            self._senders.add(sender)
            sender.add_done_callback(partial(self._sent, batch))

    def _sent(self, batch: list[Waiting], sender: asyncio.Task[None]) -> None:
        """A batch is back, and who has gone on at once waits by now; who got no answer will get none."""
        self._senders.discard(sender)
        self._sending -= 1
        self._under_way -= len(batch)
        for item in batch:
            item.answers.cancel()
        self._attend()

    def _is_worth_sending(self) -> bool:
        """Whether those who wait should not wait for a batch that is on its way, to leave together when it is back."""
        waiting = len(self._waiting)
        return waiting >= FEW if 0 < self._sending < self.abreast else waiting > 0 and not self._sending

    def _next_batch(self) -> list[Waiting]:
        most = max(FEW, -(-(self._under_way + len(self._waiting)) // self.abreast))
        size = taken = 0
        for item in self._waiting[:most]:
            if taken and size + len(item.jobs) > BATCH:
                break
            size += len(item.jobs)
            taken += 1
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return batch

    async def _send(self, batch: list[Waiting]) -> None:
        bounds = {bound.tenant: bound for item in batch for bound in item.bounds}
        try:
            answers = await self.send([job for item in batch for job in item.jobs], list(bounds.values()))
        except FairleadError as error:
            await self._fail(batch, error)
        else:
            position = 0
            for item in batch:
                if not item.answers.done():
                    item.answers.set_result(answers[position : position + len(item.jobs)])
                position += len(item.jobs)

    async def _fail(self, batch: list[Waiting], error: FairleadError) -> None:
        """One bad submission must not take the others of its batch down: where it may be one, send each alone."""
        if len(batch) > 1 and not isinstance(error, StoreUnavailable):
            for item in batch:
                await self._send([item])
            return
        for item in batch:
            if not item.answers.done():
                item.answers.set_exception(error)


async def store_patiently(
    store: Store,
    jobs: Sequence[NewJob],
    bounds: Bounds = (),
    wake: frozenset[str] = frozenset(),
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[Enqueued]:
    """Enqueue, repeating with the same ids while the store is away; `sleep` may raise to end that."""
    again, pause = False, 0.05
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return await store.jobs.enqueue(jobs, again, wake, bounds)
        except StoreUnavailable:
            if time.monotonic() + pause > give_up:
                raise
        again = True
        await sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 2, 1.0)


def hints(jobs: Sequence[NewJob]) -> frozenset[str]:
    """Whom to wake for these jobs: their pools, and the promoter if one is due soon."""
    woken = {job.lane.pool for job in jobs if job.state is READY}
    if any(job.state is SCHEDULED and job.delay < SOON for job in jobs):
        woken.add(SCHEDULED_HINT)
    return frozenset(woken)
