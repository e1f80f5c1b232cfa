"""Whether what a program submits is wanted now: decided here, by figures that are at most a moment old.

The rules are controls, and backlogs are sampled by a service. Both are read in the background while jobs are submitted,
about once a second, so that nobody waits for them; only the first submission does, and one for a tenant whose backlog
is bounded and not known yet. What this program has submitted since a sample was taken is added to it.

A rate is a bucket in the store that all programs share. Each takes tokens for a tenth of a second at a time and gives
up what it has not used after a second, so that a rate costs few round trips and is never exceeded.
"""

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence

from fairlead.core.jobs.model import NewJob
from fairlead.core.protection.backpressure import (
    ALL,
    DEFERRED,
    KINDS,
    SHED,
    TENANT,
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
from fairlead.ports.jobs import SampledBacklog
from fairlead.records.store import Store

FRESH = 1.0
MOMENT = 0.05
KEPT = 1.0  # seconds that tokens are kept
AHEAD = 0.1  # seconds' worth of tokens that are taken at a time
LONGEST = 60.0  # a sample that is older says nothing: nobody takes any
MOST_TENANTS = 1_000


class Admission:
    """The rules and figures as this program knows them; one for all its clients, and for callers' transactions."""

    def __init__(self) -> None:
        self._controls = Controls()
        self.policy = Policy(self._controls)
        self._backlog: dict[str, int] = {}
        self._submitted: deque[tuple[float, Counter[str]]] = deque()
        self._known: dict[str, None] = {}
        self._buckets: dict[str, Bucket] = {}
        self._fresh_until = 0.0
        self.counts: Counter[tuple[str, str]] = Counter()

    @property
    def version(self) -> int:
        """The last version of the controls that is known here."""
        return self._controls.version

    def is_quiet(self) -> bool:
        """Whether there is nothing to decide."""
        return not self.policy.any and time.monotonic() < self._fresh_until

    def is_stale(self) -> bool:
        """Whether rules and figures are to be read again."""
        return time.monotonic() >= self._fresh_until

    def is_new(self) -> bool:
        """Whether they were never read."""
        return self._fresh_until == 0.0

    def lacks(self, jobs: Sequence[NewJob]) -> bool:
        """Whether a backlog that matters for these jobs is not known; it will be read with the others from now on."""
        new = {job.lane.tenant for job in jobs} - self._known.keys()
        bounded = [tenant for tenant in new if self.policy.depth(tenant) is not None]
        self._known.update(dict.fromkeys(bounded))
        while len(self._known) > MOST_TENANTS:
            del self._known[next(iter(self._known))]
        return bool(bounded)

    def tenants(self) -> list[str]:
        """Whose backlog is to be read."""
        return [ALL, *self._known] if self.policy.needs_backlog else []

    def follow(self, changed: Changed) -> None:
        """Take over rules that were read."""
        if self._controls.follow(changed.controls) & (KINDS | {TENANT}):
            self.policy = Policy(self._controls)
        self._fresh_until = time.monotonic() + FRESH  # the last, since other threads look whether there are rules

    def postpone(self) -> None:
        """The store is away: what is known holds on."""
        self._fresh_until = time.monotonic() + FRESH

    def sampled(self, backlog: Mapping[str, SampledBacklog]) -> None:
        """Take over figures that were read; of what was submitted here, only what came later adds to them."""
        if ALL not in backlog or backlog[ALL].age > LONGEST:
            self._backlog = {}
            return
        self._backlog = {tenant: item.waiting for tenant, item in backlog.items()}
        self._forget(time.monotonic() - backlog[ALL].age)

    def judge(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """The jobs that are wanted, some of them later; Refused if they are not."""
        kept = self._by_overload(jobs)
        for tenant, count in Counter(job.lane.tenant for job in kept).items():
            refused = refuse_by_depth(self.policy, tenant, self._estimate(tenant), count)
            if refused is not None:
                raise self.refused(refused, tenant, count)
        return kept

    def accept(self, jobs: Sequence[NewJob]) -> None:
        """These are going to be stored."""
        if not self.policy.needs_backlog:
            return
        now = time.monotonic()
        self._forget(now - LONGEST)
        if not self._submitted or now - self._submitted[-1][0] > MOMENT:
            self._submitted.append((now, Counter()))
        added = self._submitted[-1][1]
        added[ALL] += len(jobs)
        added.update(job.lane.tenant for job in jobs)

    def admit_here(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """The same inside a caller's transaction, where a shared bucket would be locked: rates count here alone."""
        if not self.policy.any:
            return jobs
        kept = self.judge(jobs)
        for tenant, count in Counter(job.lane.tenant for job in kept).items():
            self._take_here(tenant, count)
        self.accept(kept)
        return kept

    def refused(self, error: Refused, tenant: str, count: int) -> Refused:
        """The error, counted."""
        self.counts[tenant, error.code] += count
        return error

    def _by_overload(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        policy, ready = self.policy.overload, self._estimate(ALL)
        unwanted = [job for job in jobs if is_unwanted(self.policy, job.lane.priority, ready)]
        if policy is None or not unwanted:
            return jobs
        tenants = Counter(job.lane.tenant for job in unwanted)
        if policy.action is Action.REJECT:
            error = refuse_by_overload(policy, ready, len(unwanted))
            self.counts.update({(tenant, error.code): count for tenant, count in tenants.items()})
            raise error
        code = SHED if policy.action is Action.SHED else DEFERRED
        self.counts.update({(tenant, code): count for tenant, count in tenants.items()})
        if policy.action is Action.DEFER:
            for job in unwanted:
                put_off(job, policy.delay, time.time())
            return jobs
        gone = {job.id for job in unwanted}
        return [job for job in jobs if job.id not in gone]

    def _forget(self, before: float) -> None:
        while self._submitted and self._submitted[0][0] < before:
            self._submitted.popleft()

    def _estimate(self, tenant: str) -> int:
        return self._backlog.get(tenant, 0) + sum(added[tenant] for _, added in self._submitted)

    def _take_here(self, tenant: str, count: int) -> None:
        way, now = self.policy.rate_limit(tenant), time.monotonic()
        if way is None:
            return
        bucket = self._buckets.get(tenant)
        if left(bucket, way, now) < count:
            again_in = wait(take(bucket, way, now, 0), way, count)
            raise self.refused(refuse_by_rate(way, tenant, count, again_in), tenant, count)
        if len(self._buckets) > MOST_TENANTS:
            self._buckets.clear()
        self._buckets[tenant] = take(bucket, way, now, count)


class Doorkeeper:
    """Keeps the figures fresh and takes tokens, for one client."""

    def __init__(self, store: Store, admission: Admission) -> None:
        self._store = store
        self.admission = admission
        self._tokens: dict[str, tuple[int, float]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def admit(self, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
        """The jobs that are to be stored; Refused if they are not wanted now."""
        admission = self.admission
        if admission.is_new():
            await self._read()
        elif admission.is_stale():
            self._read_soon()
        if not admission.policy.any:
            return jobs
        if admission.lacks(jobs):
            await self._read()
        try:
            kept = admission.judge(jobs)
            for tenant, count in Counter(job.lane.tenant for job in kept).items():
                await self._take(tenant, count)
        finally:
            if admission.counts:
                self._read_soon()
        admission.accept(kept)
        return kept

    async def close(self) -> None:
        """Tell the store what is not counted yet."""
        if self._reading is not None:
            await asyncio.wait([self._reading])
        if self.admission.counts:
            with contextlib.suppress(StoreError):
                await self._count()

    def _read_soon(self) -> None:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_aside(), name="fairlead-admission")

    async def _read_aside(self) -> None:
        """What is counted while the store is told of the rest is told next."""
        try:
            while await self._read() and self.admission.counts:
                pass
        finally:
            self._reading = None

    async def _read(self) -> bool:
        admission = self.admission
        try:
            admission.follow(await self._store.controls.read(admission.version))
            if tenants := admission.tenants():
                admission.sampled(await self._store.backpressure.read_backlog(tenants))
            if admission.counts:
                await self._count()
        except StoreError:
            admission.postpone()
            return False
        return True

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
            raise self.admission.refused(error, tenant, count)
        return taken.tokens
