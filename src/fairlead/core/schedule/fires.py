"""Recurring schedules: which fires are due, which of them make a job, and changes of schedules.

A fire that is at most ON_TIME seconds late counts as on time whatever the catch-up policy, since another scheduler may
need so long to take over. The policy decides whether later fires are caught up or missed; both are recorded.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from fairlead.core.jobs.model import NewJob
from fairlead.core.schedule.schedules import (
    CatchUp,
    DueSchedule,
    Fire,
    FireOutcome,
    FirePlan,
    Overlap,
    Schedule,
    ScheduleSpec,
    ScheduleState,
    ScheduleWrite,
)
from fairlead.core.schedule.timing import MICROSECONDS, Timetable, timetable
from fairlead.errors import ConfigError

ON_TIME = 15.0
MOST_FIRES = 100  # of one schedule in one round; the next round makes the rest
TRY_AGAIN = 60.0
LOOK_AGAIN = 1.0  # seconds between looks whether a queued fire can make its job
MOST_COUNTED = 1000  # a count of missed fires stops here and then means "at least"


class DueFires(NamedTuple):
    """The fires to make now, the number of fires missed before them, and the time of the last missed one."""

    fires: tuple[float, ...]
    missed: int
    last_missed: float | None


def plan(due: DueSchedule, new_id: Callable[[], str]) -> FirePlan:
    """Return the fires of a due schedule and its next time; after a part of a long catch-up it is due again at once."""
    if due.schedule.spec.overlap is Overlap.QUEUE_ONE:
        return _plan_queue(due, new_id)
    schedule, now = due.schedule, _whole(due.now)
    table = timetable_of(schedule.spec)
    found = due_fires(table, schedule.spec, schedule.handled_until, now)
    fires = list(_missed(found))
    fires += _decided(schedule.spec, found.fires, due.live, new_id)
    handled_until = found.fires[-1] if len(found.fires) == MOST_FIRES else max(now, schedule.handled_until)
    return FirePlan(
        schedule.name, schedule.version, tuple(fires), handled_until, table.next_after(handled_until)
    )  # fmt: skip


def _plan_queue(due: DueSchedule, new_id: Callable[[], str]) -> FirePlan:
    """Return the plan of a schedule whose fires queue up: at most one job lives, and at most one fire waits behind it.

    A fire waits by not being handled yet, with a look each second whether the job before it has ended. Fires that come
    while one waits are skipped.
    """
    schedule, now = due.schedule, _whole(due.now)
    table = timetable_of(schedule.spec)
    queued = _queued_fire(schedule, table)
    if queued is not None:
        fires: list[Fire] = []
        waiting: tuple[float, ...] = (queued,)
    else:
        found = due_fires(table, schedule.spec, schedule.handled_until, now)
        fires, waiting = list(_missed(found)), found.fires
    if waiting and not due.live:
        fires.append(Fire(waiting[0], FireOutcome.FIRED, job=job_of(schedule.spec, waiting[0], new_id())))
        fires += _skipped(table, queued, now)
        waiting = waiting[1:]
    if waiting:
        before = max(schedule.handled_until, waiting[0] - 1 / MICROSECONDS)
        return FirePlan(schedule.name, schedule.version, tuple(fires), before, now + LOOK_AGAIN)
    handled_until = max(now, schedule.handled_until)
    return FirePlan(schedule.name, schedule.version, tuple(fires), handled_until, table.next_after(handled_until))


def _queued_fire(schedule: Schedule, table: Timetable) -> float | None:
    """Return the fire that waits for the job before it to end: it is not handled, and the next look was put off."""
    first = table.next_after(schedule.handled_until)
    is_put_off = first is not None and schedule.next_at is not None and schedule.next_at > first + 1 / MICROSECONDS
    return first if is_put_off else None


def _skipped(table: Timetable, queued: float | None, now: float) -> Iterator[Fire]:
    """Return the fires that came while one waited, as one record."""
    if queued is not None:
        count, last = _counted(table, queued, now)
        if last is not None:
            yield Fire(last, FireOutcome.SKIPPED, count)


def postponed(due: DueSchedule) -> FirePlan:
    """Return a plan without fires for a schedule that this version cannot read; it is tried again later."""
    schedule = due.schedule
    return FirePlan(schedule.name, schedule.version, (), schedule.handled_until, _whole(due.now) + TRY_AGAIN)


def due_fires(table: Timetable, spec: ScheduleSpec, handled_until: float, now: float) -> DueFires:
    """Return the fires in (handled_until, now] that the catch-up policy allows."""
    patience = max(spec.window, ON_TIME) if spec.catch_up is CatchUp.ALL else ON_TIME
    horizon = max(handled_until, now - patience)
    fires = _between(table, horizon, now, MOST_FIRES)
    if not fires and spec.catch_up is CatchUp.LAST:
        last = latest(table, max(handled_until, now - max(spec.window, ON_TIME)), now)
        if last is not None:
            return DueFires((last,), *_counted(table, handled_until, last - 1 / MICROSECONDS))
    return DueFires(fires, *_counted(table, handled_until, horizon))


def latest(table: Timetable, after: float, until: float) -> float | None:
    """Return the last fire in (after, until], searched backwards in growing spans, or None."""
    span = 1.0
    while True:
        begin = max(after, until - span)
        found = table.next_after(begin)
        if found is not None and found <= until:
            while (following := table.next_after(found)) is not None and following <= until:
                found = following
            return found
        if begin <= after:
            return None
        span *= 4


def upcoming(spec: ScheduleSpec, after: float, count: int) -> list[float]:
    """Return the next `count` fires of a schedule after an instant."""
    return fires_of(timetable_of(spec), after, count)


def fires_of(table: Timetable, after: float, count: int) -> list[float]:
    """Return the next `count` times of a timetable after an instant."""
    found = list[float]()
    following = table.next_after(after)
    while following is not None and len(found) < count:
        found.append(following)
        following = table.next_after(following)
    return found


def timetable_of(spec: ScheduleSpec) -> Timetable:
    """Return the timetable of a schedule."""
    return timetable(spec.expression, spec.zone)


def job_of(spec: ScheduleSpec, at: float, job_id: str) -> NewJob:
    """Return the job of a fire; its options contain the schedule's name and the fire time."""
    options = {**json.loads(spec.options or "{}"), "schedule": spec.name, "fire_at": at}
    not_after = None if spec.start_within is None else at + spec.start_within
    return NewJob(job_id, spec.lane, spec.payload, run_at=at, not_after=not_after, options=json.dumps(options))


def created(spec: ScheduleSpec, owner: str | None, now: float) -> ScheduleWrite:
    """Return the write of a new schedule that fires from now on."""
    schedule = Schedule(spec, owner, ScheduleState.ACTIVE, 1, now, timetable_of(spec).next_after(now))
    return ScheduleWrite(schedule, None)


def changed(schedule: Schedule, spec: ScheduleSpec, now: float) -> ScheduleWrite:
    """Return the write of a changed schedule; `with_due` adds the fires that are due by the old settings."""
    return _rewritten(schedule, spec, now)


def with_due(write: ScheduleWrite, due: DueSchedule, new_id: Callable[[], str]) -> ScheduleWrite | None:
    """Return a change with the fires that are due by the old settings; None if they are too many for one write.

    Old settings that this version cannot read have no fires here.
    """
    if not due.is_due:
        return write
    try:
        done = plan(due, new_id)
    except ConfigError:
        return write
    more = done.next_at is not None and done.next_at <= due.now
    return None if more else write._replace(fires=(*done.fires, *_given_up(due, done)))


def _given_up(due: DueSchedule, done: FirePlan) -> Iterator[Fire]:
    """Return the fire that still waits behind a live job: it is recorded as skipped, since its settings change."""
    after = replace(due.schedule, handled_until=done.handled_until, next_at=done.next_at)
    waiting = _queued_fire(after, timetable_of(after.spec)) if after.spec.overlap is Overlap.QUEUE_ONE else None
    if waiting is not None:
        yield Fire(waiting, FireOutcome.SKIPPED)


def activated(schedule: Schedule, now: float) -> ScheduleWrite:
    """Return the write that resumes a schedule without catching up."""
    return _rewritten(replace(schedule, state=ScheduleState.ACTIVE), schedule.spec, now)


def stopped(schedule: Schedule, state: ScheduleState, now: float) -> ScheduleWrite:
    """Return the write that stops a schedule; due fires are recorded as missed."""
    write = _rewritten(replace(schedule, state=state), schedule.spec, now)
    if schedule.state is not ScheduleState.ACTIVE:
        return write
    dropped = DueFires((), *_counted(timetable_of(schedule.spec), schedule.handled_until, now))
    return write._replace(fires=tuple(_missed(dropped)))


def fired_by_hand(schedule: Schedule, now: float, job_id: str) -> ScheduleWrite:
    """Return the write of a manual fire, independent of timetable and policies."""
    fire = Fire(now, FireOutcome.FIRED, job=job_of(schedule.spec, now, job_id), manual=True)
    return ScheduleWrite(replace(schedule, version=schedule.version + 1), schedule.version, (fire,))


class Reconciled(NamedTuple):
    """The writes that make stored schedules match the code; `taken` are schedules that belong to another app."""

    writes: tuple[ScheduleWrite, ...]
    taken: tuple[Schedule, ...]

    @property
    def retired(self) -> int:
        """How many schedules are retired."""
        return sum(write.schedule.state is ScheduleState.RETIRED for write in self.writes)


def reconcile(
    existing: Sequence[Schedule],
    declared: Sequence[ScheduleSpec],
    owner: str,
    now: float,
    adopted: Collection[str] = (),
) -> Reconciled:
    """Return the writes that create, change, reactivate and retire an app's schedules; paused ones stay paused.

    `adopted` are apps that no longer run: their schedules that this app declares now become this app's.
    """
    by_name = {schedule.name: schedule for schedule in existing}
    wanted = {spec.name for spec in declared}
    ours = {owner, *adopted}
    taken = tuple(item for item in existing if item.name in wanted and item.owner not in ours)
    theirs = {item.name for item in taken}
    free = (spec for spec in declared if spec.name not in theirs)
    writes = [write for spec in free for write in _declared(by_name.get(spec.name), spec, owner, now)]
    gone = (item for item in existing if item.owner == owner and item.name not in wanted)
    writes += [stopped(item, ScheduleState.RETIRED, now) for item in gone if item.state is not ScheduleState.RETIRED]
    return Reconciled(tuple(writes), taken)


def _declared(schedule: Schedule | None, spec: ScheduleSpec, owner: str, now: float) -> Iterator[ScheduleWrite]:
    if schedule is None:
        yield created(spec, owner, now)
    elif schedule.state is ScheduleState.RETIRED:
        yield _rewritten(replace(schedule, owner=owner, state=ScheduleState.ACTIVE), spec, now)
    elif (schedule.spec, schedule.owner) != (spec, owner):
        yield _rewritten(replace(schedule, owner=owner), spec, now)


def _rewritten(schedule: Schedule, spec: ScheduleSpec, now: float) -> ScheduleWrite:
    handled_until = max(_whole(now), schedule.handled_until)
    following = timetable_of(spec).next_after(handled_until)
    new = Schedule(spec, schedule.owner, schedule.state, schedule.version + 1, handled_until, following)
    return ScheduleWrite(new, schedule.version)


def _decided(spec: ScheduleSpec, fires: Sequence[float], live: int, new_id: Callable[[], str]) -> Iterator[Fire]:
    for at in fires:
        if spec.overlap is Overlap.SKIP and live > 0:
            yield Fire(at, FireOutcome.SKIPPED)
        else:
            live += 1
            yield Fire(at, FireOutcome.FIRED, job=job_of(spec, at, new_id()))


def _missed(due: DueFires) -> Iterator[Fire]:
    if due.last_missed is not None:
        yield Fire(due.last_missed, FireOutcome.MISSED, due.missed)


def _counted(table: Timetable, after: float, until: float) -> tuple[int, float | None]:
    """Return the number of fires in (after, until], up to a bound, and the last of them."""
    found = _between(table, after, until, MOST_COUNTED)
    return len(found), latest(table, after, until) if found else None


def _between(table: Timetable, after: float, until: float, most: int) -> tuple[float, ...]:
    found: list[float] = []
    following = table.next_after(after) if after < until else None
    while following is not None and following <= until and len(found) < most:
        found.append(following)
        following = table.next_after(following)
    return tuple(found)


def _whole(instant: float) -> float:
    """Return the instant rounded to microseconds, as databases store it."""
    return round(instant * MICROSECONDS) / MICROSECONDS
