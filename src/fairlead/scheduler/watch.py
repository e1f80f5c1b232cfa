"""Stores a sample of the system every few seconds, for the charts of the dashboard; less often while nothing happens.

The number of ended jobs is the sum of the workers' reports. Samples are rarer where counting live jobs takes long.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from fairlead.core.jobs.workers import WorkerRecord
from fairlead.records.store import Store

INTERVAL = 5.0
RESTING = 15.0  # while no job is ready, runs or has ended; a hint about new work ends the pause
COST_SHARE = 0.02
KEPT = 2 * 3600.0
READY, RUNNING = "ready", "running"
ENDED = ("succeeded", "retrying", "dead", "cancelled", "expired")


class Watcher:
    """Writes samples."""

    name = "watch"

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._seen: dict[str, dict[str, int]] = {}
        self._last: float | None = None
        self.is_resting = False

    async def run_once(self) -> float:
        """Take one sample; returns the seconds until the next one."""
        began = self._clock()
        sample = await self._sample()
        await self._store.samples.add(json.dumps(sample, separators=(",", ":")), KEPT)
        self.is_resting = not any(sample["ended"].values()) and not any(map(_is_busy, sample["pools"].values()))
        return max(RESTING if self.is_resting else INTERVAL, (self._clock() - began) / COST_SHARE)

    async def _sample(self) -> dict[str, Any]:
        counts = await self._store.reader.count_jobs()
        now = (await self._store.controls.read()).now
        pools: dict[str, dict[str, Any]] = {}
        for (pool, state), count in counts.items():
            pools.setdefault(pool, {"oldest": None})[state] = count
        has_ready = any(state == READY for _, state in counts)
        for active in await self._store.reader.active_lanes() if has_ready else []:
            own = pools.setdefault(active.lane.pool, {"oldest": None})
            own["oldest"] = round(max(own["oldest"] or 0.0, now - active.since), 3)
        ended = self._ended(await self._store.workers.all())
        seconds, self._last = (0.0 if self._last is None else now - self._last), now
        return {"pools": pools, "ended": ended, "seconds": round(seconds, 3)}

    def _ended(self, workers: list[WorkerRecord]) -> dict[str, int]:
        """The increase of the workers' counters since the last look; nothing at the first."""
        reports = {worker.info.id: _ends(worker) for worker in workers}
        ended = dict.fromkeys(ENDED, 0)
        if self._last is not None:
            for worker_id, report in reports.items():
                before = self._seen.get(worker_id, {})
                for state in ENDED:
                    ended[state] += max(0, report[state] - before.get(state, 0))
        self._seen = reports
        return ended


def _is_busy(pool: dict[str, Any]) -> bool:
    return READY in pool or RUNNING in pool


def _ends(worker: WorkerRecord) -> dict[str, int]:
    return {state: int(worker.report.get(state, 0)) for state in ENDED}
