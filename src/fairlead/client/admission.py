"""What operators have set, as this program knows it: which submissions are wanted, and which pool a type's jobs go to.

The rules are controls. They are read about once a second while jobs are submitted, in the background where there is an
event loop; only the first submission waits for them.

Depth: a tenant may have so many waiting jobs. The store counts them inside the transaction that stores the submission.
What it finds free is shared: this program then submits a sixteenth of that before the store counts again. The fuller a
tenant is, the more often is counted, and every time near its bound.

Rate: a bucket in the store that all programs share. Each takes tokens for a tenth of a second at a time and gives up
what it has not used after a second, so that a rate costs few round trips and is never exceeded.

Overload: the ready jobs of the whole system are sampled by a service; what this program has submitted since a sample
was taken is added to it.
"""

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import NamedTuple

from fairlead.core.jobs.model import NewJob
from fairlead.core.jobs.pools import PLACE, Pools
from fairlead.core.protection.backpressure import (
    ALL,
    DEFERRED,
    KINDS,
    SHED,
    TENANT,
    USUAL_DEPTH,
    Action,
    Policy,
    is_unwanted,
    put_off,
    refuse_by_depth,
    refuse_by_overload,
    refuse_by_rate,
)
from fairlead.core.protection.controls import Changed, Controls
from fairlead.core.protection.token_bucket import Bucket, RateLimit, left, take, wait
from fairlead.errors import Refused, StoreError
from fairlead.handlers.spec import HandlerSpec
from fairlead.ports.jobs import DepthBound, SampledBacklog
from fairlead.records.store import Store

FRESH = 1.0
KEPT = 1.0  # seconds that tokens are kept
AHEAD = 0.1  # seconds' worth of tokens that are taken at a time
LONGEST = 60.0  # a sample that is older says nothing: nobody takes any
MOST_TENANTS = 10_000
PART = 16  # this part of what the store has found free is submitted before it counts again
LARGE_PART = 2  # the same for a bound that only guards the disk: counting takes long, and need not be exact
UNCOUNTED = 100  # jobs of a tenant at most that a program submits before the store counts for the first time
FULL_FOR = 0.25  # seconds for which a tenant that was found full is taken to be full


class Room:
    """How many jobs of one tenant this program may submit before the store counts again; a DepthBound of the store."""

    def __init__(self, tenant: str, most: int) -> None:
        self.tenant = tenant
        self.most = most
        self._left = min(most // PART, UNCOUNTED)
        self._counted = 0
        self._full_until = 0.0

    def has(self, count: int) -> bool:
        """Whether so many need no counting; they are taken. TenantQueueFull where it is known that they do not fit."""
        if count <= self._left:
            self._left -= count
            return True
        if time.monotonic() < self._full_until and self._counted + count > self.most:
            raise refuse_by_depth(self.tenant, self.most, self._counted, count)
        return False

    def admit(self, waiting: int, count: int) -> None:
        """The store has counted; TenantQueueFull where so many more do not fit."""
        free = self.most - waiting - count
        self._counted = waiting
        self._left = max(free, 0) // (PART if self.most < USUAL_DEPTH else LARGE_PART)
        if free < 0:
            self._full_until = time.monotonic() + FULL_FOR
            raise refuse_by_depth(self.tenant, self.most, waiting, count)


class WholeBound(NamedTuple):
    """A bound for one batch of a submission, of which more batches follow."""

    room: DepthBound
    more: int

    @property
    def tenant(self) -> str:
        """Whose jobs are counted."""
        return self.room.tenant

    @property
    def most(self) -> int:
        """How many may wait."""
        return self.room.most

    def admit(self, waiting: int, count: int) -> None:
        """The store has counted; an error where the whole rest of the submission does not fit."""
        self.room.admit(waiting, count + self.more)


def whole(bounds: Sequence[DepthBound], following: Sequence[NewJob]) -> list[DepthBound]:
    """The bounds for a batch that these jobs of the same submission follow."""
    more = tenants_of(following) if bounds else {}
    return [WholeBound(bound, more.get(bound.tenant, 0)) for bound in bounds]


class Admission:
    """The rules and figures as this program knows them; one for all its clients, and for callers' transactions."""

    def __init__(self) -> None:
        self._controls = Controls()
        self._pools = Pools(self._controls)
        self.policy = Policy(self._controls)
        self.pools_version = 0  # another number whenever a type has got another pool
        self._lock = RLock()  # clients of several threads share this
        self._ready = 0
        self._submitted: deque[tuple[float, int]] = deque()
        self._rooms: dict[str, Room] = {}
        self._buckets: dict[str, Bucket] = {}
        self._fresh_until = 0.0
        self.counts: Counter[tuple[str, str]] = Counter()

    def begin_anew(self) -> None:
        """In a forked child, where a thread of the parent may have held the lock."""
        self._lock = RLock()

    @property
    def version(self) -> int:
        """The last version of the controls that is known here."""
        return self._controls.version

    def pool_of(self, spec: HandlerSpec) -> str:
        """The pool that new jobs of the type go to: the declared one, or that which its run times call for."""
        return spec.pool if spec.fixed_pool else self._pools.place(spec.name, spec.pool)

    def is_quiet(self) -> bool:
        """Whether nothing has to be decided but depths."""
        return not self.policy.any and time.monotonic() < self._fresh_until

    def is_stale(self) -> bool:
        """Whether rules and figures are to be read again."""
        return time.monotonic() >= self._fresh_until

    def is_new(self) -> bool:
        """Whether they were never read."""
        return self._fresh_until == 0.0

    def wants_sample(self) -> bool:
        """Whether a rule asks how many jobs are ready."""
        return self.policy.overload is not None

    def follow(self, changed: Changed) -> None:
        """Take over rules that were read."""
        with self._lock:
            kinds = self._controls.follow(changed.controls)
            if kinds & (KINDS | {TENANT}):
                self.policy = Policy(self._controls)
                self._rooms.clear()
            if PLACE in kinds:
                self.pools_version = self._controls.version
            self.postpone()  # the last, since other threads look whether there are rules

    def postpone(self) -> None:
        """What is known holds on for a moment."""
        self._fresh_until = time.monotonic() + FRESH

    def sampled(self, backlog: Mapping[str, SampledBacklog]) -> None:
        """Take over the sampled figure; of what was submitted here, only what came later adds to it."""
        with self._lock:
            sample = backlog.get(ALL)
            self._ready = sample.waiting if sample is not None and sample.age <= LONGEST else 0
            if sample is not None:
                self._forget(time.monotonic() - sample.age)

    def bounds(self, jobs: Sequence[NewJob]) -> list[DepthBound]:
        """The bounds that the store has to count for before it stores these jobs; TenantQueueFull if one is reached."""
        with self._lock:
            return [room for room, count in self._rooms_of(tenants_of(jobs)) if not room.has(count)]

    def judge(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """The jobs that an overloaded system wants, some of them later; Overloaded if it refuses them."""
        policy = self.policy.overload
        if policy is None:
            return jobs
        with self._lock:
            ready = self._ready + sum(count for _, count in self._submitted)
            unwanted = [job for job in jobs if is_unwanted(self.policy, job.lane.priority, ready)]
            if not unwanted:
                return self._accepted(jobs)
            if policy.action is Action.REJECT:
                raise self.refused(refuse_by_overload(policy, ready, len(unwanted)), tenants_of(unwanted))
            self._count(SHED if policy.action is Action.SHED else DEFERRED, tenants_of(unwanted))
            if policy.action is Action.DEFER:
                for job in unwanted:
                    put_off(job, policy.delay, time.time())
                return self._accepted(jobs)
            gone = {job.id for job in unwanted}
            return self._accepted([job for job in jobs if job.id not in gone])

    def admit_here(self, jobs: Sequence[NewJob]) -> tuple[Sequence[NewJob], list[DepthBound]]:
        """The jobs that a caller's transaction may store, and what has to be counted there first.

        A shared bucket would be locked there, so rates count in this program alone.
        """
        kept = self.judge(jobs)
        with self._lock:
            for tenant, count in tenants_of(kept).items():
                self._take_here(tenant, count)
        return kept, self.bounds(kept)

    def refused(self, error: Refused, tenants: Mapping[str, int]) -> Refused:
        """The error, counted for each tenant."""
        self._count(error.code, tenants)
        return error

    def _count(self, code: str, tenants: Mapping[str, int]) -> None:
        self.counts.update({(tenant, code): count for tenant, count in tenants.items()})

    def _accepted(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        now = time.monotonic()
        self._forget(now - LONGEST)
        self._submitted.append((now, len(jobs)))
        return jobs

    def _forget(self, before: float) -> None:
        while self._submitted and self._submitted[0][0] < before:
            self._submitted.popleft()

    def _rooms_of(self, tenants: Mapping[str, int]) -> list[tuple[Room, int]]:
        if len(self._rooms) > MOST_TENANTS:
            self._rooms.clear()
        return [(self._room(tenant), count) for tenant, count in tenants.items()]

    def _room(self, tenant: str) -> Room:
        room = self._rooms.get(tenant)
        if room is None:
            room = self._rooms[tenant] = Room(tenant, self.policy.depth(tenant))
        return room

    def _take_here(self, tenant: str, count: int) -> None:
        way, now = self.policy.rate_limit(tenant), time.monotonic()
        if way is None:
            return
        bucket = self._buckets.get(tenant)
        if left(bucket, way, now) < count:
            again_in = wait(take(bucket, way, now, 0), way, count)
            raise self.refused(refuse_by_rate(way, tenant, count, again_in), {tenant: count})
        if len(self._buckets) > MOST_TENANTS:
            self._buckets.clear()
        self._buckets[tenant] = take(bucket, way, now, count)


class Admitted(NamedTuple):
    """The jobs that are to be stored, and the bounds for which the store has to count first."""

    jobs: Sequence[NewJob]
    bounds: list[DepthBound]


class Doorkeeper:
    """Keeps the rules fresh and takes tokens, for one client."""

    def __init__(self, store: Store, admission: Admission, in_background: bool = True) -> None:
        self._store = store
        self._in_background = in_background
        self.admission = admission
        self._tokens: dict[str, tuple[int, float]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def admit(self, jobs: Sequence[NewJob]) -> Admitted:
        """The jobs that are to be stored; Refused if they are not wanted now."""
        admission = self.admission
        if admission.is_stale():
            await self._refresh()
        try:
            kept = admission.judge(jobs)
            if admission.policy.any:
                for tenant, count in tenants_of(kept).items():
                    await self._take(tenant, count)
        finally:
            self._tell()
        return Admitted(kept, admission.bounds(kept))

    def refused(self, error: Refused, tenants: Mapping[str, int]) -> Refused:
        """The error, counted; the store is told of it."""
        self.admission.refused(error, tenants)
        self._tell()
        return error

    async def read(self) -> bool:
        """Read the rules and figures, and tell the store what is counted; False where the store is away."""
        admission = self.admission
        try:
            admission.follow(await self._store.controls.read(admission.version))
            if admission.wants_sample():
                admission.sampled(await self._store.backpressure.read_backlog([ALL]))
            if admission.counts:
                await self._count()
        except StoreError:
            admission.postpone()
            return False
        return True

    async def close(self) -> None:
        """Tell the store what is not counted yet."""
        if self._reading is not None:
            await asyncio.wait([self._reading])
        if self.admission.counts:
            with contextlib.suppress(StoreError):
                await self._count()

    async def _refresh(self) -> None:
        """Read the rules again; those who come meanwhile go by what is known."""
        if self.admission.is_new():
            await self.read()
        elif self._in_background:
            self._read_soon()
        else:
            self.admission.postpone()
            await self.read()

    def _tell(self) -> None:
        """Have the store told what was refused, put off or shed; without a background, with the next reading."""
        if self._in_background and self.admission.counts:
            self._read_soon()

    def _read_soon(self) -> None:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_aside(), name="fairlead-admission")

    async def _read_aside(self) -> None:
        """Counts made while the store is told join the next telling."""
        try:
            while await self.read() and self.admission.counts:
                pass
        finally:
            self._reading = None

    async def _count(self) -> None:
        counts, self.admission.counts = self.admission.counts, Counter()
        try:
            await self._store.backpressure.count_admissions(counts)
        except StoreError:
            self.admission.counts.update(counts)
            raise

    async def _take(self, tenant: str, count: int) -> None:
        way = self.admission.policy.rate_limit(tenant)
        if way is None:
            return
        tokens, until = self._tokens.pop(tenant, (0, 0.0))
        if time.monotonic() > until:
            tokens = 0
        if tokens < count:
            tokens += await self._fetch(tenant, way, count, count - tokens)
            until = time.monotonic() + KEPT
        if len(self._tokens) < MOST_TENANTS and tokens > count:
            self._tokens[tenant] = tokens - count, until

    async def _fetch(self, tenant: str, way: RateLimit, count: int, least: int) -> int:
        taken = await self._store.limits.take_tokens(f"submit:{tenant}", way, least, max(least, int(way.rate * AHEAD)))
        if taken.tokens < least:
            error = refuse_by_rate(way, tenant, count, taken.again_in)
            raise self.admission.refused(error, {tenant: count})
        return taken.tokens


def tenants_of(jobs: Iterable[NewJob]) -> Counter[str]:
    """How many of the jobs are of each tenant; neighbours mostly share a lane, which is not looked at twice."""
    found: Counter[str] = Counter()
    last, tenant, count = None, "", 0
    for job in jobs:
        if job.lane is not last:
            if count:
                found[tenant] += count
            last, tenant, count = job.lane, job.lane.tenant, 0
        count += 1
    if count:
        found[tenant] += count
    return found
