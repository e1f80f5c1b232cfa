"""Following jobs until they end: many followers, one question to the store at a time.

Each follower looks often at first and less often later. Those whose look is due are asked for together, so a thousand
followers cost the store little more than one.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from math import ceil

from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.states import FINAL
from fairlead.errors import StoreError, TooManyFollowers
from fairlead.records.store import Store

FIRST_LOOK = 0.02
LAST_LOOK = 0.5
GROWTH = 1.3
BATCH = 500


class Subscription:
    """One follower of one job."""

    def __init__(self, job: JobRecord, now: float) -> None:
        self.job_id = job.id
        self.pause = FIRST_LOOK
        self.due = now + FIRST_LOOK
        self.changed = asyncio.Event()
        self.latest: JobRecord | None = job

    def look(self, record: JobRecord | None, now: float) -> None:
        """Take over what was read."""
        if record != self.latest:
            if record is None or self.latest is None or record.state is not self.latest.state:
                self.pause = FIRST_LOOK  # what changes its state often does so again; progress has a pace of its own
            self.latest = record
            self.changed.set()
        self.pause = min(self.pause * GROWTH, LAST_LOOK)
        self.due = now + self.pause


class Follower:
    """Follows jobs for this process."""

    def __init__(self, store: Store, most: int = 1_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._most = most
        self._clock = clock
        self._seats: Counter[str] = Counter()
        self._subscriptions: set[Subscription] = set()
        self._poller: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return self._seats.total()

    @contextlib.contextmanager
    def seat(self, who: str) -> Iterator[None]:
        """Somebody waits or watches; TooManyFollowers where there is no room for them."""
        self.require_room(who)
        self._seats[who] += 1
        try:
            yield
        finally:
            self._seats[who] -= 1
            self._seats = +self._seats

    async def changes(self, job: JobRecord, who: str) -> AsyncGenerator[JobRecord]:
        """The job now and after each change, until it has ended, is gone, or this is closed."""
        yield job
        if job.state in FINAL:
            return
        with self.seat(who):
            subscription = self._enter(job)
            try:
                while not self._closed:
                    await subscription.changed.wait()
                    subscription.changed.clear()
                    if subscription.latest is None or self._closed:
                        return
                    yield subscription.latest
                    if subscription.latest.state in FINAL:
                        return
            finally:
                self._subscriptions.discard(subscription)

    async def wait(self, job: JobRecord, timeout: float, who: str) -> JobRecord:
        """The job once it has ended, or as it is when the time is over."""
        latest = job
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout), contextlib.aclosing(self.changes(job, who)) as changes:
                async for record in changes:
                    latest = record
        return latest

    def close(self) -> None:
        """Let all followers end."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.changed.set()
        if self._poller is not None:
            self._poller.cancel()

    def require_room(self, who: str) -> None:
        """Raise TooManyFollowers where there are as many as there may be, or where one has half of the seats that all
        others leave: however many are greedy, there is room for the next."""
        if len(self) >= self._most:
            raise TooManyFollowers(f"{self._most} wait or watch here, and that is the most; try again soon")
        own = self._seats[who]
        if own >= ceil((self._most - (len(self) - own)) / 2):
            raise TooManyFollowers(f"this key or tenant waits or watches {own} times here, half of what others leave")

    def _enter(self, job: JobRecord) -> Subscription:
        subscription = Subscription(job, self._clock())
        self._subscriptions.add(subscription)
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll(), name="fairlead-follower")
        return subscription

    async def _poll(self) -> None:
        try:
            while self._subscriptions:
                earliest = min(subscription.due for subscription in self._subscriptions)
                await asyncio.sleep(max(FIRST_LOOK, earliest - self._clock()))
                try:
                    await self._look()
                except StoreError:
                    await asyncio.sleep(LAST_LOOK)
        finally:
            self._poller = None

    async def _look(self) -> None:
        now = self._clock()
        due = [subscription for subscription in self._subscriptions if subscription.due <= now]
        ids = list({subscription.job_id for subscription in due})
        found: dict[str, JobRecord] = {}
        for start in range(0, len(ids), BATCH):
            found |= {record.id: record for record in await self._store.reader.read_many(ids[start : start + BATCH])}
        for subscription in due:
            subscription.look(found.get(subscription.job_id), now)
