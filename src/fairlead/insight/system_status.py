"""The state of the whole system: pools, slots and backlog, its health with alerts, and the last hour in samples."""

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.core.insight.diagnosis import (
    GUARDS,
    LATELY,
    PAUSES,
    WINDOW,
    ClosedGate,
    Health,
    PoolSnapshot,
    Sample,
    SystemSnapshot,
    diagnose,
)
from fairlead.core.jobs.pools import Pool
from fairlead.core.jobs.workers import WorkerRecord
from fairlead.core.protection.run_counts import DEPENDENCY, base_of, tenant_of
from fairlead.errors import StoreError
from fairlead.handlers.registered import pools_of
from fairlead.insight.breakers import CLOSED, BreakerStatus, breakers
from fairlead.insight.job_types import WaitView, waits
from fairlead.insight.protection import Quarantined, paused, quarantined
from fairlead.records.store import Store
from fairlead.records.workers import SERVICES_ROLE

HISTORY = 3600.0
PHASES = {
    "open": "is open, and nothing of it starts",
    "half_open": "lets a few probes through",
    "ramping": "lets more and more through again",
}
MOST_POOLS = 200
NEWEST = 60.0  # seconds after which a sample says nothing about now


@dataclass(frozen=True, slots=True)
class PoolStats:
    """One pool: live jobs by state, seconds that the first ready job has waited, and the slots that serve it."""

    pool: str
    jobs: dict[str, int]
    oldest_ready: float | None
    workers: int
    slots: int
    running: int


@dataclass(frozen=True, slots=True)
class SystemStatus:
    """What the first page shows."""

    health: Health
    pools: list[PoolStats]
    sample: Mapping[str, Any] | None
    waits: WaitView


async def system_status(store: Store) -> SystemStatus:
    """How it looks now, with the newest sample."""
    stats = await pool_stats(store)
    past = await history(store, WINDOW)
    sample = past[-1] if past and past[-1]["at"] > (await store.controls.read()).now - NEWEST else None
    look = await _look(store, stats, past, dict(sample["ended"]) if sample else {})
    return SystemStatus(diagnose(look), stats, sample, await waits(store))


async def _look(
    store: Store, stats: Sequence[PoolStats], past: Sequence[Mapping[str, Any]], ended: dict[str, int]
) -> SystemSnapshot:
    aims = await pools_of(store)
    leader = await store.leadership.current(SERVICES_ROLE)
    return SystemSnapshot(
        pools=[_pool_look(pool, aims.get(pool.pool)) for pool in stats],
        ended=ended,
        closed=await _closed(store),
        samples=[_sampled(item) for item in past],
        lost=[_name(worker) for worker in await store.workers.all() if -LATELY < worker.lease_left <= 0],
        overdue=(await store.promotion.due(1)).overdue or 0.0,
        is_led=leader is not None and leader.lease_left > 0,
    )


def _name(worker: WorkerRecord) -> str:
    return f"{worker.info.host} {worker.info.pid}"


def _sampled(sample: Mapping[str, Any]) -> Sample:
    pools = sample["pools"]
    return Sample(
        sample["at"],
        {name: pool.get("ready", 0) for name, pool in pools.items()},
        {name: pool["oldest"] or 0.0 for name, pool in pools.items()},
        sample["ended"].get("dead", 0),
    )


async def _closed(store: Store) -> list[ClosedGate]:
    """What keeps jobs from starting, and where that can be ended."""
    return [
        *(
            ClosedGate(_breaker(item), GUARDS, "BREAKER_OPEN", item.name)
            for item in await breakers(store)
            if item.phase != CLOSED
        ),
        *(_quarantine(item) for item in await quarantined(store)),
        *(
            ClosedGate(
                f"{item.scope} {item.name} is paused: {item.reason}", PAUSES, "PAUSED", f"{item.scope}:{item.name}"
            )
            for item in await paused(store)
        ),
    ]


def _quarantine(item: Quarantined) -> ClosedGate:
    return ClosedGate(f"type {item.type} is in quarantine: {item.why}", GUARDS, "QUARANTINED", item.type)


def _breaker(item: BreakerStatus) -> str:
    """What is broken or fails, for whom, and what its breaker lets start; or what an operator has decided."""
    scope, _, name = base_of(item.name).partition(":")
    tenant = tenant_of(item.name)
    who = f" for tenant {tenant}" if tenant else ""
    if item.by is not None:
        return f"the breaker of {scope} {name}{who} is {item.phase} by hand: {item.why}"
    subject = f"the dependency {name}" if scope == DEPENDENCY else f"type {name}"
    return f"{subject} failed{who} ({item.why}): its breaker {PHASES.get(item.phase, f'is {item.phase}')}"


async def history(store: Store, back: float = HISTORY) -> list[dict[str, Any]]:
    """Samples of the last seconds, oldest first."""
    return [{"at": at, **json.loads(value)} for at, value in await store.samples.read(back)]


def _pool_look(stats: PoolStats, pool: Pool) -> PoolSnapshot:
    ready, runs = stats.jobs.get("ready", 0), stats.jobs.get("running", 0)
    return PoolSnapshot(
        stats.pool, ready, stats.oldest_ready, stats.workers, stats.slots, stats.running, runs, pool.wait, pool.depth
    )


def _shown(pools: set[str], counts: Mapping[tuple[str, str], int], live: Sequence[WorkerRecord]) -> list[str]:
    """At most MOST_POOLS pools, by name; a submission may name any pool."""
    if len(pools) <= MOST_POOLS:
        return sorted(pools)
    served = {pool for worker in live for pool in worker.info.pools}
    jobs: dict[str, int] = {}
    for (pool, _), count in counts.items():
        jobs[pool] = jobs.get(pool, 0) + count
    return sorted(sorted(pools, key=lambda pool: (pool not in served, -jobs.get(pool, 0), pool))[:MOST_POOLS])


async def pool_stats(store: Store) -> list[PoolStats]:
    """The pools that have jobs or workers, by name; of very many, those with workers and with the most jobs."""
    counts = await store.reader.count_jobs()
    now = (await store.controls.read()).now
    since: dict[str, float] = {}
    for active in await store.reader.active_lanes():
        since[active.lane.pool] = min(active.since, since.get(active.lane.pool, active.since))
    live = [worker for worker in await store.workers.all() if worker.live]
    pools = {pool for pool, _ in counts} | {pool for worker in live for pool in worker.info.pools}
    found = []
    for pool in _shown(pools, counts, live):
        serving = [worker for worker in live if pool in worker.info.pools]
        found.append(
            PoolStats(
                pool=pool,
                jobs={state: count for (name, state), count in sorted(counts.items()) if name == pool},
                oldest_ready=max(0.0, now - since[pool]) if pool in since else None,
                workers=len(serving),
                slots=sum(worker.info.slots for worker in serving),
                running=sum(int(worker.report.get("running", 0)) for worker in serving),
            )
        )
    return found


INTERVAL = 2.0


class StatusFeed:
    """Looks while somebody watches; each viewer gets every look."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._viewers = 0
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Condition()
        self.newest: SystemStatus | None = None
        self._closed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._closed.is_set()

    @contextlib.contextmanager
    def viewer(self) -> Iterator[None]:
        """Somebody watches."""
        self._viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look_on(), name="fairlead-watch-stats")
        try:
            yield
        finally:
            self._viewers -= 1

    async def next(self) -> SystemStatus | None:
        """The next look; None where there is none any more."""
        async with self._looked:
            await self._looked.wait()
            return self.newest

    def close(self) -> None:
        """Let all viewers go."""
        self._closed.set()

    async def _look_on(self) -> None:
        try:
            while self._viewers and not self.is_closed:
                with contextlib.suppress(StoreError):
                    self.newest = await system_status(self._store)
                await self._tell()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(INTERVAL):
                        await self._closed.wait()
        finally:
            self._task, self.newest = None, None
            await self._tell()

    async def _tell(self) -> None:
        async with self._looked:
            self._looked.notify_all()
