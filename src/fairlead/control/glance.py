"""The system at a glance: figures, the verdict on them, and an hour of history."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairlead.control.breakers import CLOSED, BreakerStatus, breakers
from fairlead.control.pauses import paused
from fairlead.control.quarantine import Quarantined, quarantined
from fairlead.control.stats import PoolStats, pool_stats
from fairlead.control.waits import WaitView, waits, waits_document
from fairlead.core.health import DEPENDENCY
from fairlead.core.verdict import GUARDS, PAUSES, Alert, Closed, Health, Look, PoolLook, verdict
from fairlead.ports.store import Store

HISTORY = 3600.0


@dataclass(frozen=True, slots=True)
class Glance:
    """What the first page shows."""

    health: Health
    pools: list[PoolStats]
    sample: Mapping[str, Any] | None
    waits: WaitView


async def glance(store: Store) -> Glance:
    """How it looks now, with the newest sample."""
    pools = await pool_stats(store)
    newest = await history(store, 60.0)
    sample = newest[-1] if newest else None
    closed = await _closed(store)
    look = Look([_look(pool) for pool in pools], dict(sample["ended"]) if sample else {}, closed)
    return Glance(verdict(look), pools, sample, await waits(store))


async def _closed(store: Store) -> list[Closed]:
    """What keeps jobs from starting, and where that can be ended."""
    return [
        *(Closed(_breaker(item), GUARDS, "BREAKER_OPEN") for item in await breakers(store) if item.phase != CLOSED),
        *(_quarantine(item) for item in await quarantined(store)),
        *(
            Closed(f"{item.scope} {item.name} is paused: {item.reason}", PAUSES, "PAUSED")
            for item in await paused(store)
        ),
    ]


def _quarantine(item: Quarantined) -> Closed:
    return Closed(f"type {item.type} is in quarantine: {item.why}", GUARDS, "QUARANTINED")


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
    return {"level": alert.level, "code": alert.code, "sentence": alert.sentence, "hint": alert.hint}


def _look(pool: PoolStats) -> PoolLook:
    ready = pool.jobs.get("ready", 0)
    runs = pool.jobs.get("running", 0)
    return PoolLook(pool.pool, ready, pool.oldest_ready, pool.workers, pool.slots, pool.running, runs)
