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
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from fairlead.client.wakeups import Waker
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.core.jobs.states import READY, SCHEDULED
from fairlead.errors import FairleadError, StoreUnavailable
from fairlead.ports.jobs import SCHEDULED_HINT
from fairlead.records.store import Store

BATCH = 1000
ABREAST = 2  # batches that are on their way at once
FEW = 8  # submissions that are not worth two commits
COMPANY = 4  # submissions from which on it is quicker to join them than to go alone
SOON = 60.0
PATIENCE = 10.0

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")
Stored = tuple[list[NewJob], list[Enqueued]]  # a batch, and what became of it

_Waiting = tuple[Sequence[NewJob], "asyncio.Future[list[Enqueued]]"]


class Gatherer:
    """Collects submissions on one event loop; those of a lone caller go straight to the store."""

    def __init__(self, store: Store, waker: Waker) -> None:
        self._store = store
        self._waker = waker
        self._abreast = min(ABREAST, store.jobs.writers)
        self._waiting: list[_Waiting] = []
        self._under_way = 0  # submissions that were sent and have no answer yet
        self._sending = 0  # batches or lone callers that are on their way
        self._senders: set[asyncio.Task[None]] = set()
        self._attending = False  # whether somebody will look at those who wait, in the next turn of the loop

    @property
    def has_company(self) -> bool:
        """Whether whoever comes now had better share a commit with others."""
        return self._under_way + len(self._waiting) >= COMPANY

    async def submit(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Store the jobs; returns when they are durable."""
        if any(job.unique for job in jobs):  # whose key somebody may hold for a while: nobody else waits for that
            return await self._store_and_wake(jobs)
        if not self._sending:
            return await self._submit_alone(jobs)
        future: asyncio.Future[list[Enqueued]] = asyncio.get_running_loop().create_future()
        self._waiting.append((jobs, future))
        if not self._attending and self._is_worth_sending():
            self._attending = True
            asyncio.get_running_loop().call_soon(self._attend)  # with all who come in this turn of the loop
        return await future

    async def submit_again(self, jobs: Sequence[NewJob], give_up: float) -> list[Enqueued]:
        """The same for jobs of which nobody knows whether they are stored, until an instant of the monotonic clock."""
        return await self._store_and_wake(jobs, give_up)

    def submit_batches(self, batches: Iterable[list[NewJob]]) -> AsyncGenerator[Stored]:
        """Store batches in order."""
        return _in_order(batches, self._store_and_wake, lambda jobs: all(job.is_plain for job in jobs))

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._senders:
            await asyncio.wait(self._senders)

    async def _submit_alone(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Nobody else is waiting; whoever comes meanwhile is served by a task."""
        self._sending += 1
        self._under_way += 1
        try:
            return await self._store_and_wake(jobs)
        finally:
            self._under_way -= 1
            self._sending -= 1
            self._attend()

    def _attend(self) -> None:
        """Send those who wait, unless as many batches as may be are on their way."""
        self._attending = False
        self._waiting = [item for item in self._waiting if not item[1].cancelled()]
        while self._is_worth_sending():
            batch = self._next_batch()
            self._sending += 1
            self._under_way += len(batch)
            sender = asyncio.create_task(self._send(batch), name="fairlead-enqueue")
            self._senders.add(sender)
            sender.add_done_callback(partial(self._sent, batch))

    def _sent(self, batch: list[_Waiting], sender: asyncio.Task[None]) -> None:
        """A batch is back, and who has gone on at once waits by now; who got no answer will get none."""
        self._senders.discard(sender)
        self._sending -= 1
        self._under_way -= len(batch)
        for _, future in batch:
            future.cancel()
        self._attend()

    def _is_worth_sending(self) -> bool:
        """Whether those who wait should not wait for a batch that is on its way, to leave together when it is back."""
        waiting = len(self._waiting)
        return waiting >= FEW if 0 < self._sending < self._abreast else waiting > 0 and not self._sending

    async def _store_and_wake(self, jobs: Sequence[NewJob], tried_until: float | None = None) -> list[Enqueued]:
        """A hint that is due goes with the commit, any other follows it."""
        wanted = hints(jobs)
        due = self._waker.due(wanted)
        answers = await store_patiently(self._store, jobs, due, tried_until)
        self._waker.wake(wanted - due)
        return answers

    def _next_batch(self) -> list[_Waiting]:
        most = max(FEW, -(-(self._under_way + len(self._waiting)) // self._abreast))
        size = taken = 0
        for jobs, _ in self._waiting[:most]:
            if taken and size + len(jobs) > BATCH:
                break
            size += len(jobs)
            taken += 1
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return batch

    async def _send(self, batch: list[_Waiting]) -> None:
        try:
            answers = await self._store_and_wake([job for jobs, _ in batch for job in jobs])
        except FairleadError as error:
            await self._fail(batch, error)
        else:
            position = 0
            for jobs, future in batch:
                if not future.done():
                    future.set_result(answers[position : position + len(jobs)])
                position += len(jobs)

    async def _fail(self, batch: list[_Waiting], error: FairleadError) -> None:
        """One bad submission must not take the others of its batch down: where it may be one, send each alone."""
        if len(batch) > 1 and not isinstance(error, StoreUnavailable):
            for item in batch:
                await self._send([item])
            return
        for _, future in batch:
            if not future.done():
                future.set_exception(error)


async def _in_order(
    batches: Iterable[Batch], store: Callable[[Batch], Coroutine[Any, Any, Answer]], is_plain: Callable[[Batch], bool]
) -> AsyncGenerator[tuple[Batch, Answer]]:
    """Store batch after batch; the next is made, and the one before made use of, while the store is at work."""
    under_way: deque[tuple[Batch, asyncio.Task[Answer]]] = deque()
    try:
        for batch in batches:
            while len(under_way) >= (ABREAST if is_plain(batch) else 1):
                yield await _next(under_way)
            under_way.append((batch, asyncio.create_task(store(batch), name="fairlead-enqueue")))
            await asyncio.sleep(0)
        while under_way:
            yield await _next(under_way)
    finally:
        tasks = [task for _, task in under_way]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _next(under_way: deque[tuple[Batch, asyncio.Task[Answer]]]) -> tuple[Batch, Answer]:
    """The oldest batch, once it is stored."""
    batch, task = under_way[0]
    answer = await task
    under_way.popleft()
    return batch, answer


async def store_patiently(
    store: Store, jobs: Sequence[NewJob], wake: frozenset[str] = frozenset(), tried_until: float | None = None
) -> list[Enqueued]:
    """Enqueue, repeating with the same ids while the store is away; `tried_until` if they may be there already."""
    again = tried_until is not None
    give_up = time.monotonic() + PATIENCE if tried_until is None else tried_until
    pause = 0.05
    while True:
        try:
            return await store.jobs.enqueue(jobs, again, wake)
        except StoreUnavailable:
            if time.monotonic() + pause > give_up:
                raise
        again = True
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 2, 1.0)


def hints(jobs: Sequence[NewJob]) -> frozenset[str]:
    """Whom to wake for these jobs: their pools, and the promoter if one is due soon."""
    woken = {job.lane.pool for job in jobs if job.state is READY}
    if any(job.state is SCHEDULED and job.delay < SOON for job in jobs):
        woken.add(SCHEDULED_HINT)
    return frozenset(woken)
