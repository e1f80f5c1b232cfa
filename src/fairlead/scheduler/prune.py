"""Removes finished jobs and other records past their retention, and lanes that are no longer used."""

import time

from fairlead.records.store import Store

BATCH = 5000
INTERVAL = 60.0
LIMITS_INTERVAL = 3600.0
GRACE = 2 * 86400.0  # lanes are removed after the history that names them, which may be a day late


class Pruner:
    """Applies each type's retention."""

    name = "prune"

    def __init__(self, store: Store, retention: float) -> None:
        self._store = store
        self._retention = retention
        self._limits_at = 0.0

    async def run_once(self) -> float:
        """Remove one batch; returns the seconds until the next one."""
        types = await self._store.types.all()
        kept = {
            item.name: float(item.settings["retention"]) for item in types if item.settings.get("retention") is not None
        }
        removed = await self._store.jobs.prune(kept, self._retention, BATCH)
        await self._store.callbacks.prune_deliveries(self._retention, BATCH)
        await self._prune_limits(max([self._retention, *kept.values()]))
        return 1.0 if removed >= BATCH else INTERVAL

    async def _prune_limits(self, longest: float) -> None:
        """Remove idle lanes with limit keys; done once an hour, since it reads all live jobs."""
        now = time.monotonic()
        if now >= self._limits_at:
            await self._store.limits.prune(longest + GRACE, BATCH)
            self._limits_at = now + LIMITS_INTERVAL
