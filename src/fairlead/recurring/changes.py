"""Recurring schedules: looking at them, changing them, and keeping those of an app's code in step with it.

Who names a `tenant` sees and touches only that tenant's; another's is as absent as one that never was. The decision to
change one is taken on what is there, and counts only for that version, so no schedule can change hands in between.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.model import NewJob
from fairlead.core.schedule import fires as recur
from fairlead.core.schedule.fires import fires_of, reconcile
from fairlead.core.schedule.schedules import (
    DueSchedule,
    FireRecord,
    Schedule,
    ScheduleRecord,
    ScheduleSpec,
    ScheduleState,
    ScheduleWrite,
    record_of,
)
from fairlead.core.schedule.timing import timetable
from fairlead.errors import ScheduleNotFound, ScheduleRefused, StoreUnavailable
from fairlead.handlers.registered import check_schema, dump_payload, registered_type
from fairlead.insight.protection import require_room
from fairlead.ports.jobs import RECURRING_HINT
from fairlead.records.store import Store
from fairlead.recurring.firing import Recurrer, new_id
from fairlead.runtime.control_changes import Expected, require_expected
from fairlead.runtime.operator import Operator
from fairlead.telemetry.events import Telemetry

TRIES = 10
ROUNDS = 50
BRIEF = 1.0
PAGE = 1000

NEW_TERMS = ("change", "declare")  # what is due before these is made on the old terms

Decide = Callable[[DueSchedule], ScheduleWrite | None]


async def list_schedules(
    store: Store, limit: int, after: str | None = None, upcoming: int = 1, past: int = 1, tenant: str | None = None
) -> list[ScheduleRecord]:
    """Schedules by name, each with its next fires and its last ones."""
    found = await store.schedules.page(limit, after, tenant=tenant)
    return await _records(store, found, upcoming, past, tenant)


async def get(store: Store, name: str, upcoming: int = 5, past: int = 20, tenant: str | None = None) -> ScheduleRecord:
    """A schedule with its next fires and its last ones; ScheduleNotFound if there is none."""
    (record,) = await _records(store, [await read(store, name, tenant)], upcoming, past, tenant)
    return record


async def read(store: Store, name: str, tenant: str | None = None) -> Schedule:
    """The schedule as it is kept; ScheduleNotFound if there is none."""
    found = await store.schedules.read([name])
    if not found:
        raise _missing(name)
    _require_of(found[0], tenant)
    return found[0]


async def add(store: Store, spec: ScheduleSpec, operator: Operator) -> None:
    """Make a schedule that fires from now on."""
    write = recur.created(spec, None, await store.now())
    note = operator.note("schedule add", spec.name, type=spec.lane.type, expression=spec.expression, tz=spec.zone)
    if not await store.schedules.write(write, note):
        raise ScheduleRefused(f"there is a schedule {spec.name!r} already; change it, or give this one another name")
    await store.jobs.wake([RECURRING_HINT])


async def change(
    store: Store,
    name: str,
    make: Callable[[ScheduleSpec], ScheduleSpec],
    operator: Operator,
    expected: Expected = None,
    tenant: str | None = None,
) -> None:
    """Give a schedule other terms from now on; what was due before is made on the old ones."""

    def decide(seen: DueSchedule) -> ScheduleWrite:
        require_expected(seen.schedule.version, expected, f"the schedule {name!r}")
        _require_ours(seen.schedule, "changed")
        return recur.changed(seen.schedule, make(seen.schedule.spec), seen.now)

    await _rewrite(store, name, decide, operator, "change", tenant)


async def pause(store: Store, name: str, operator: Operator, tenant: str | None = None) -> None:
    """Let a schedule fire no more until it is resumed; a deploy does not resume it."""
    await _rewrite(store, name, _paused, operator, "pause", tenant)


async def resume(store: Store, name: str, operator: Operator, tenant: str | None = None) -> None:
    """Let a paused schedule fire again; what fell into the pause is not caught up."""
    await _rewrite(store, name, _resumed, operator, "resume", tenant)


async def run_now(store: Store, name: str, operator: Operator, tenant: str | None = None) -> NewJob:
    """Make a job of the schedule now, whatever its timetable, its policies and its state say.

    TenantQueueFull where the tenant may have no more waiting jobs.
    """
    await require_room(store, (await read(store, name, tenant)).spec.lane.tenant)
    made: list[NewJob] = []

    def fire(seen: DueSchedule) -> ScheduleWrite:
        write = recur.fired_by_hand(seen.schedule, seen.now, new_id(seen.now))
        made[:] = [item.job for item in write.fires if item.job is not None]
        return write

    await _rewrite(store, name, fire, operator, "run now", tenant)
    await store.jobs.wake([made[0].lane.pool])
    return made[0]


async def remove(
    store: Store, name: str, operator: Operator, expected: Expected = None, tenant: str | None = None
) -> None:
    """Remove a schedule and the record of its fires; its jobs stay. While an app runs, its schedules are its own."""
    for _ in range(TRIES):
        schedule = await read(store, name, tenant)
        require_expected(schedule.version, expected, f"the schedule {name!r}")
        declared = schedule.owner is not None and schedule.state is not ScheduleState.RETIRED
        if declared and await app_runs(store, str(schedule.owner)):
            _require_ours(schedule, "removed")
        if await store.schedules.remove(name, schedule.version, operator.note("schedule remove", name)):
            return
    raise _contended(name)


async def declare(
    store: Store,
    app: str,
    declared: Sequence[ScheduleSpec],
    operator: Operator,
    adopted: Collection[str] = (),
) -> recur.Reconciled:
    """Bring the store in step with the code of an app, which may adopt schedules of apps that run no more."""
    specs = {spec.name: spec for spec in declared}
    existing = await _of_app(store, app, list(specs))
    found = reconcile(existing, declared, app, await store.now(), adopted)
    for write in found.writes:
        await _declare_one(store, app, write, specs.get(write.schedule.name), operator, adopted)
    return found


def role_of(app: str) -> str:
    """The role whose leader declares the schedules of an app."""
    return f"schedules of {app}"


async def app_runs(store: Store, app: str) -> bool:
    """Whether any process keeps the lead of this app; it is free soon after the last one has ended."""
    nobody = str(uuid4())
    if not await store.leadership.lead(role_of(app), nobody, BRIEF):
        return True
    await store.leadership.resign(role_of(app), nobody)
    return False


async def type_and_payload(
    store: Store, type_name: str, payload: Mapping[str, Any] | None, limit: int
) -> tuple[JobType, str]:
    """A registered type, and the arguments checked by its JSON schema."""
    job_type = await registered_type(store, type_name)
    text = dump_payload(type_name, payload or {}, limit)
    check_schema(job_type, payload or {})
    return job_type, text


async def _declare_one(
    store: Store,
    app: str,
    write: ScheduleWrite,
    spec: ScheduleSpec | None,
    operator: Operator,
    adopted: Collection[str],
) -> None:
    """Write what was decided; where the schedule is there already, decide again on what it is by then."""
    name, verb = write.schedule.name, "retire" if spec is None else "declare"
    if write.seen is None and await store.schedules.write(
        write, operator.note("schedule declare", name, expression=write.schedule.spec.expression)
    ):
        await store.jobs.wake([RECURRING_HINT])
        return

    def decide(seen: DueSchedule) -> ScheduleWrite | None:
        again = reconcile([seen.schedule], [] if spec is None else [spec], app, seen.now, adopted)
        return again.writes[0] if again.writes else None

    await _rewrite(store, name, decide, operator, verb)


async def _rewrite(
    store: Store, name: str, decide: Decide, operator: Operator, verb: str, tenant: str | None = None
) -> None:
    """Decide on what is there, and again where somebody else was faster; None leaves it as it is."""
    for _ in range(TRIES):
        seen = await _see(store, name)
        _require_of(seen.schedule, tenant)
        write = decide(seen)
        if write is None:
            return
        if verb in NEW_TERMS:
            write = recur.with_due(write, seen, partial(new_id, seen.now))
            if write is None:
                await _catch_up(store, name)
                continue
        details = {"expression": write.schedule.spec.expression} if verb in NEW_TERMS else {}
        if await store.schedules.write(write, operator.note(f"schedule {verb}", name, **details)):
            await store.jobs.wake([RECURRING_HINT])
            return
    raise _contended(name)


async def _catch_up(store: Store, name: str) -> None:
    """Make what is due, as any scheduler would, until little is left."""
    recurrer = Recurrer(store, Telemetry())
    for _ in range(ROUNDS):
        if await recurrer.run_once() > 0:
            return
    raise ScheduleRefused(f"the schedule {name!r} is still catching up; pause it first, then change it")


async def _see(store: Store, name: str) -> DueSchedule:
    seen = await store.schedules.see(name)
    if seen is None:
        raise _missing(name)
    return seen


def _paused(seen: DueSchedule) -> ScheduleWrite | None:
    schedule = seen.schedule
    if schedule.state is ScheduleState.RETIRED:
        raise ScheduleRefused(f"the schedule {schedule.name!r} is retired and does not fire: there is nothing to pause")
    active = schedule.state is ScheduleState.ACTIVE
    return recur.stopped(schedule, ScheduleState.PAUSED, seen.now) if active else None


def _resumed(seen: DueSchedule) -> ScheduleWrite | None:
    schedule = seen.schedule
    if schedule.state is ScheduleState.RETIRED:
        raise ScheduleRefused(f"the schedule {schedule.name!r} is retired: no code declares it; declare it again")
    return recur.activated(schedule, seen.now) if schedule.state is ScheduleState.PAUSED else None


async def _of_app(store: Store, app: str, names: Sequence[str]) -> list[Schedule]:
    """What the app has, and what has the names that it declares."""
    found = {item.name: item for item in (await store.schedules.read(names) if names else [])}
    after: str | None = None
    while page := await store.schedules.page(PAGE, after, app):
        found |= {item.name: item for item in page}
        after = page[-1].name
    return list(found.values())


async def _records(
    store: Store, found: Sequence[Schedule], upcoming: int, past: int, tenant: str | None
) -> list[ScheduleRecord]:
    fires = await store.schedules.fires([item.name for item in found], past) if found else []
    fires = [_shown_to(tenant, fire) for fire in fires]
    now = await store.now() if found else 0.0
    return [
        record_of(item, _next(item, now, upcoming), [fire for fire in fires if fire.schedule == item.name])
        for item in found
    ]  # fmt: skip


def _shown_to(tenant: str | None, fire: FireRecord) -> FireRecord:
    """A fire from before the schedule was this tenant's made another's job, of which nothing is told."""
    own = tenant is None or fire.job_tenant == tenant
    return fire if own else fire._replace(job_id=None, job_state=None)


def _next(schedule: Schedule, now: float, count: int) -> list[float]:
    active = schedule.state is ScheduleState.ACTIVE
    return recur.upcoming(schedule.spec, max(now, schedule.handled_until), count) if active else []


def _require_of(schedule: Schedule, tenant: str | None) -> None:
    if tenant is not None and schedule.spec.lane.tenant != tenant:
        raise _missing(schedule.name)


def _require_ours(schedule: Schedule, verb: str) -> None:
    if schedule.owner is not None:
        raise ScheduleRefused(
            f"the schedule {schedule.name!r} is declared in the code of {schedule.owner} and has to be {verb} there; "
            "to stop it at once, pause it"
        )


def _missing(name: str) -> ScheduleNotFound:
    return ScheduleNotFound(f"there is no schedule {name!r}; `fairlead schedules list` has their names")


def _contended(name: str) -> StoreUnavailable:
    return StoreUnavailable(f"the schedule {name!r} was changed by others {TRIES} times in a row; try again")


MOST = 100
LEAST_PAUSE = 1.0


async def require_own(store: Store, tenant: str, name: str, expression: str, zone: str | None) -> None:
    """Refuse a new schedule that is not for a tenant itself to make."""
    own, colon, rest = name.rpartition(":")
    if own != tenant or not colon or not rest:
        raise ScheduleRefused(f"the tenant {tenant} adds schedules under its own name, like {tenant}:nightly")
    require_slow(tenant, expression, zone)
    if len(await store.schedules.page(MOST, tenant=tenant)) >= MOST:
        raise ScheduleRefused(f"the tenant {tenant} has {MOST} schedules, and cannot add more itself; remove some")


def require_slow(tenant: str, expression: str, zone: str | None) -> None:
    """Refuse an expression that fires more often than a tenant itself may set."""
    fires = fires_of(timetable(expression, zone or "UTC"), 0.0, 2)
    if len(fires) == 2 and fires[1] - fires[0] < LEAST_PAUSE:
        raise ScheduleRefused(f"what the tenant {tenant} sets itself fires once a second at most")
