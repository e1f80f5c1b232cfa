"""The system at a glance: figures, the verdict on them, and an hour of history."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairlead.control.breakers import CLOSED, BreakerStatus, breakers
from fairlead.control.pauses import paused
from fairlead.control.quarantine import Quarantined, quarantined
from fairlead.control.stats import PoolStats, pool_stats
from fairlead.control.submit import pools_of
from fairlead.control.waits import WaitView, waits, waits_document
from fairlead.core.insight.diagnosis import (
    GUARDS,
    LATELY,
    PAUSES,
    WINDOW,
    Alert,
    Closed,
    Health,
    Look,
    PoolLook,
    Sample,
    verdict,
)
from fairlead.core.jobs.model import WorkerRecord
from fairlead.core.jobs.pools import Pool
from fairlead.core.protection.run_counts import DEPENDENCY
from fairlead.ports.store import Store
from fairlead.scheduler.leader import ROLE

HISTORY = 3600.0
NEWEST = 60.0  # seconds after which a sample says nothing about now


@dataclass(frozen=True, slots=True)
class Glance:
    """What the first page shows."""

    health: Health
    pools: list[PoolStats]
    sample: Mapping[str, Any] | None
    waits: WaitView


async def glance(store: Store) -> Glance:
    """How it looks now, with the newest sample."""
    stats = await pool_stats(store)
    past = await history(store, WINDOW)
    sample = past[-1] if past and past[-1]["at"] > (await store.controls()).now - NEWEST else None
    look = await _look(store, stats, past, dict(sample["ended"]) if sample else {})
    return Glance(verdict(look), stats, sample, await waits(store))


async def _look(
    store: Store, stats: Sequence[PoolStats], past: Sequence[Mapping[str, Any]], ended: dict[str, int]
) -> Look:
    aims = await pools_of(store)
    leader = await store.leader(ROLE)
    return Look(
        pools=[_pool_look(pool, aims.get(pool.pool)) for pool in stats],
        ended=ended,
        closed=await _closed(store),
        samples=[_sampled(item) for item in past],
        lost=[_name(worker) for worker in await store.workers() if -LATELY < worker.lease_left <= 0],
        overdue=(await store.due(1)).overdue or 0.0,
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


async def _closed(store: Store) -> list[Closed]:
    """What keeps jobs from starting, and where that can be ended."""
    return [
        *(
            Closed(_breaker(item), GUARDS, "BREAKER_OPEN", item.name)
            for item in await breakers(store)
            if item.phase != CLOSED
        ),
        *(_quarantine(item) for item in await quarantined(store)),
        *(
            Closed(f"{item.scope} {item.name} is paused: {item.reason}", PAUSES, "PAUSED", f"{item.scope}:{item.name}")
            for item in await paused(store)
        ),
    ]


def _quarantine(item: Quarantined) -> Closed:
    return Closed(f"type {item.type} is in quarantine: {item.why}", GUARDS, "QUARANTINED", item.type)


def _breaker(item: BreakerStatus) -> str:
    """A dependency that is broken, a type that fails, or what somebody has decided."""
    scope, _, name = item.name.partition(":")
    if item.by is not None:
        return f"the breaker {item.name} is {item.phase} by hand: {item.why}"
    broken = f"the dependency {name} is broken" if scope == DEPENDENCY else f"type {name} fails"
    return f"{broken}: {item.why}, so its breaker is {item.phase}"


async def history(store: Store, back: float = HISTORY) -> list[dict[str, Any]]:
    """Samples of the last seconds, oldest first."""
    return [{"at": at, **json.loads(value)} for at, value in await store.samples(back)]


def glance_document(found: Glance) -> dict[str, Any]:
    """A glance in JSON."""
    return {
        "health": health_document(found.health),
        "pools": [asdict(pool) for pool in found.pools],
        "sample": found.sample,
        "waits": waits_document(found.waits),
    }


def health_document(found: Health) -> dict[str, Any]:
    """The verdict in JSON."""
    document = {**asdict(found), "topics": [topic._asdict() for topic in found.topics]}
    return {**document, "alerts": [alert_document(alert) for alert in found.alerts]}


def alert_document(alert: Alert) -> dict[str, Any]:
    """An alert in JSON."""
    return {
        "level": alert.level,
        "code": alert.code,
        "about": alert.about or None,
        "sentence": alert.sentence,
        "hint": alert.hint,
    }


def _pool_look(stats: PoolStats, pool: Pool) -> PoolLook:
    ready, runs = stats.jobs.get("ready", 0), stats.jobs.get("running", 0)
    return PoolLook(
        stats.pool, ready, stats.oldest_ready, stats.workers, stats.slots, stats.running, runs, pool.wait, pool.depth
    )
