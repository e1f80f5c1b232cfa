"""Moves future jobs of a type to the pool that fits its measured run times, if a worker serves the type there."""

from collections import defaultdict

from fairlead.core.fairness.run_times import RunCount
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.pools import PLACE, WINDOW, Move, Pools, classify
from fairlead.core.protection.controls import ABSENT, Change, Controls
from fairlead.ports.jobs import CONTROLS_HINT
from fairlead.records.store import Store
from fairlead.telemetry.events import Telemetry, TypeMoved

INTERVAL = 60.0
ACTOR = "fairlead classify"


class Classifier:
    """Compares each type's run times with what its pool allows."""

    name = "classify"

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry
        self._controls = Controls()

    async def run_once(self) -> float:
        """Move types whose run times do not fit their pool; returns the seconds until the next look."""
        counts: dict[str, list[RunCount]] = defaultdict(list)
        for count in await self._store.shares.run_times(WINDOW):
            counts[count.type].append(count)
        if counts:
            changed = await self._store.controls.read(self._controls.version)
            self._controls.follow(changed.controls)
            served = await self._served()
            for job_type in await self._store.types.all():
                await self._place(job_type, counts.get(job_type.name, []), changed.now, served)
        return INTERVAL

    async def _served(self) -> set[tuple[str, str]]:
        """Pairs of a type and a pool in which a live worker serves it."""
        live = [record.info for record in await self._store.workers.all() if record.live]
        return {(name, pool) for info in live for name in info.types for pool in info.pools}

    async def _place(self, job_type: JobType, counts: list[RunCount], now: float, served: set[tuple[str, str]]) -> None:
        if job_type.settings.get("fixed_pool"):
            return
        control = self._controls.get(PLACE, job_type.name)
        pools = Pools(self._controls)
        place = pools.place(job_type.name, job_type.pool)
        moved_ago = None if control is None else now - control.at
        move = classify(job_type.name, job_type.pool, place, moved_ago, counts, pools)
        if move is None or (move.type, move.new) not in served:
            return
        if await self._write(move, ABSENT if control is None else control.version):
            self._telemetry.emit(TypeMoved(*move))

    async def _write(self, move: Move, seen: int) -> bool:
        value = {"pool": move.new, "why": move.why}
        note = AuditNote(ACTOR, "move", f"type {move.type}", {"old": move.old, "new": move.new, "why": move.why})
        made = await self._store.controls.change([Change(PLACE, move.type, value, seen)], note)
        await self._store.jobs.wake([CONTROLS_HINT])
        return bool(made)
