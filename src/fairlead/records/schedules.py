"""Recurring schedules and the record of their fires."""

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Lane, NewJob, Priority
from fairlead.core.schedule.schedules import (
    CatchUp,
    DueSchedule,
    Fire,
    FireOutcome,
    FirePlan,
    FireRecord,
    Overlap,
    Schedule,
    ScheduleSpec,
    ScheduleState,
    ScheduleWrite,
)
from fairlead.core.stored import known_member
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.records import rows
from fairlead.records.audit import append_script
from fairlead.records.enqueue import job_row
from fairlead.records.jobs import JobReader
from fairlead.records.lanes import ensure_lanes

KEPT_FIRES = 100
SCHEDULE_COLUMNS = 20


class Schedules:
    """Reads, fires and changes schedules; each write is a compare-and-swap on the version."""

    def __init__(self, database: Database, reader: JobReader) -> None:
        self._database = database
        self._reader = reader

    async def due(self, limit: int) -> list[DueSchedule]:
        """Return active schedules with a due fire, the longest overdue first."""
        return [
            DueSchedule(schedule_of(row), *row[SCHEDULE_COLUMNS:])
            for row in await self._database.ask("due_schedules", limit=limit)
        ]

    async def see(self, name: str) -> DueSchedule | None:
        """Return a schedule, due or not, with the database's now and its counts of live jobs; None if there is none."""
        found = await self._database.ask("see_schedule", schedule=name)
        return DueSchedule(schedule_of(found[0]), *found[0][SCHEDULE_COLUMNS:]) if found else None

    async def next_fire(self) -> float | None:
        """Return the seconds until the next schedule is due, or None."""
        found = await self._database.ask("next_fire")
        return found[0][0] if found else None

    async def fire(self, plans: Sequence[FirePlan]) -> set[str]:
        """Apply the plans whose schedule is unchanged; returns the names of these schedules."""
        return await self._database.transact(lambda: _fire_all(plans)) if plans else set()

    async def write(self, write: ScheduleWrite, note: AuditNote) -> bool:
        """Create or change a schedule and record its fires; False if its version is another than `seen`."""
        return await self._database.transact(lambda: _write(write, note))

    async def remove(self, name: str, seen: int, note: AuditNote) -> bool:
        """Remove a schedule and its fires; False if its version is another than `seen`."""
        return await self._database.transact(lambda: _remove(name, seen, note))

    async def read(self, names: Iterable[str]) -> list[Schedule]:
        """Return the schedules with these names that exist."""
        found = await self._database.ask_each("read_schedules", [{"name": name} for name in names])
        return [schedule_of(row) for row in found]

    async def page(
        self, limit: int, after: str | None = None, owner: str | None = None, tenant: str | None = None
    ) -> list[Schedule]:
        """Return schedules ordered by name, after `after`; of one owner or all, of one tenant or all."""
        found = await self._database.ask("list_schedules", limit=limit, after=after, owner=owner, tenant=tenant)
        return [schedule_of(row) for row in found]

    async def fires(self, names: Iterable[str], most: int) -> list[FireRecord]:
        """Return the last fires of each schedule, newest first, with state and tenant of their jobs."""
        found = await self._database.ask_each("read_fires", [{"name": name, "most": most} for name in names])
        records = [_fire_record(row) for row in found]
        jobs = await self._reader.read_many({item.job_id for item in records if item.job_id is not None})
        known = {job.id: job for job in jobs}
        return [_with_job(item, known.get(item.job_id or "")) for item in records]


def schedule_of(row: rows.Row) -> Schedule:
    """From the columns of read_schedules, list_schedules and due_schedules."""
    (name, expression, zone, pool, tenant, type_, priority, version, limits, payload, options, overlap, catch_up,
     window, start_within, owner, state, own_version, handled_until, next_at) = row[:SCHEDULE_COLUMNS]  # fmt: skip
    spec = ScheduleSpec(
        name, expression, zone, Lane(pool, tenant, type_, Priority(priority), version, limits), payload, options,
        known_member(Overlap, overlap, Overlap.ALLOW), known_member(CatchUp, catch_up, CatchUp.LAST), window,
        start_within,
    )  # fmt: skip
    return Schedule(
        spec, owner, known_member(ScheduleState, state, ScheduleState.PAUSED), own_version, handled_until, next_at
    )


def _fire_all(plans: Sequence[FirePlan]) -> Script[set[str]]:
    seen = [{"name": plan.name, "version": plan.version} for plan in plans]
    held = {row[0] for row in (yield RunEach("lock_schedules", seen))}
    winners = [plan for plan in plans if plan.name in held]
    if winners:
        yield from _record([(plan.name, fire) for plan in winners for fire in plan.fires])
        yield RunEach("advance_schedules", [_advance_row(plan) for plan in winners])
    return held


def _write(write: ScheduleWrite, note: AuditNote) -> Script[bool]:
    statement = "insert_schedule" if write.seen is None else "update_schedule"
    if not (yield Run(statement, {**_schedule_row(write.schedule), "seen": write.seen})):
        return False
    yield from _record([(write.schedule.name, fire) for fire in write.fires])
    yield from append_script(note, [fire.job.id for fire in write.fires if fire.job is not None])
    return True


def _remove(name: str, seen: int, note: AuditNote) -> Script[bool]:
    if not (yield Run("remove_schedule", {"name": name, "seen": seen})):
        return False
    yield Run("remove_fires", {"name": name})
    yield from append_script(note)
    return True


def _record(fires: Sequence[tuple[str, Fire]]) -> Script[None]:
    """Record fires, insert the jobs of newly recorded ones, and remove the oldest fires."""
    if not fires:
        return
    recorded = {row[0] for row in (yield RunEach("insert_fires", [_fire_row(name, fire) for name, fire in fires]))}
    jobs = [fire.job for _, fire in fires if fire.job is not None and fire.job.id in recorded]
    yield from _insert(jobs)
    yield RunEach("trim_fires", [{"schedule": name, "kept": KEPT_FIRES} for name in {name for name, _ in fires}])


def _insert(jobs: Sequence[NewJob]) -> Script[None]:
    if jobs:
        yield from ensure_lanes({job.lane for job in jobs})
        yield RunEach("insert_jobs", [job_row(job) for job in jobs])


def _schedule_row(schedule: Schedule) -> dict[str, Any]:
    spec, lane = schedule.spec, schedule.spec.lane
    return {
        "name": spec.name,
        "owner": schedule.owner,
        "state": schedule.state.value,
        "version": schedule.version,
        "expression": spec.expression,
        "zone": spec.zone,
        "pool": lane.pool,
        "tenant": lane.tenant,
        "type": lane.type,
        "priority": int(lane.priority),
        "type_version": lane.version,
        "limits": lane.limits,
        "payload": spec.payload,
        "options": spec.options,
        "overlap": spec.overlap.value,
        "catch_up": spec.catch_up.value,
        "window": spec.window,
        "start_within": spec.start_within,
        "handled_until": schedule.handled_until,
        "next_at": schedule.next_at,
    }


def _advance_row(plan: FirePlan) -> dict[str, Any]:
    return {
        "name": plan.name,
        "version": plan.version,
        "handled_until": plan.handled_until,
        "next_at": plan.next_at,
    }


def _fire_row(name: str, fire: Fire) -> dict[str, Any]:
    return {
        "schedule": name,
        "fire_at": fire.at,
        "manual": fire.manual,
        "outcome": fire.outcome.value,
        "count": fire.times,
        "job_id": fire.job.id if fire.job else None,
    }


def _with_job(fire: FireRecord, job: JobRecord | None) -> FireRecord:
    return fire if job is None else fire._replace(job_state=job.state, job_tenant=job.tenant)


def _fire_record(row: rows.Row) -> FireRecord:
    """From (schedule, fire_at, manual, outcome, count, job_id, recorded_at)."""
    return FireRecord(
        row[0], row[1], bool(row[2]), known_member(FireOutcome, row[3], FireOutcome.SKIPPED), row[4], row[5], row[6]
    )
