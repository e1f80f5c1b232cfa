"""The system at a glance: figures, the verdict on them, and an hour of history."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairlead.control.breakers import CLOSED, breakers
from fairlead.control.pauses import paused
from fairlead.control.quarantine import quarantined
from fairlead.control.stats import PoolStats, pool_stats
from fairlead.control.waits import WaitView, waits, waits_document
from fairlead.core.verdict import Health, Look, PoolLook, verdict
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


async def _closed(store: Store) -> list[str]:
    """What keeps jobs from starting, in words."""
    return [
        *(f"{item.scope} {item.name} is paused" for item in await paused(store)),
        *(f"the breaker {item.name} is {item.phase}" for item in await breakers(store) if item.phase != CLOSED),
        *(f"type {item.type} is in quarantine" for item in await quarantined(store)),
    ]


async def history(store: Store, back: float = HISTORY) -> list[dict[str, Any]]:
    """Samples of the last seconds, oldest first."""
    return [{"at": at, **json.loads(value)} for at, value in await store.samples(back)]


def glance_document(found: Glance) -> dict[str, Any]:
    """A glance in JSON."""
    return {
        "health": asdict(found.health),
        "pools": [asdict(pool) for pool in found.pools],
        "sample": found.sample,
        "waits": waits_document(found.waits),
    }


def _look(pool: PoolStats) -> PoolLook:
    ready = pool.jobs.get("ready", 0)
    runs = pool.jobs.get("running", 0)
    return PoolLook(pool.pool, ready, pool.oldest_ready, pool.workers, pool.slots, pool.running, runs)
