"""Fires recurring schedules: creates their jobs when they are due."""

import asyncio
from collections.abc import Sequence
from functools import partial

from fairlead.core.jobs.ids import make_ids
from fairlead.core.schedule.fires import plan, postponed
from fairlead.core.schedule.schedules import DueSchedule, Fire, FireOutcome, FirePlan
from fairlead.errors import ConfigError
from fairlead.records.store import Store
from fairlead.telemetry.events import (
    Event,
    ScheduleFired,
    ScheduleMissed,
    ScheduleSkipped,
    ServiceFailed,
    Telemetry,
)

BATCH = 100
LONGEST_SLEEP = 15.0
IN_OTHER_HANDS = 0.1  # pause while another scheduler fires the due schedules


class Recurrer:
    """Sleeps until the next fire; a hint wakes it when a schedule was added or changed. Any number may run at once."""

    name = "recur"

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry

    async def run_once(self) -> float:
        """Fire one batch of due schedules; returns the seconds until the next fire."""
        following = await self._store.schedules.next_fire()
        if following is not None and following <= 0:
            applied = await self._fire(await self._store.schedules.due(BATCH))
            following = await self._store.schedules.next_fire()
            if following is not None and following <= 0:
                return 0.0 if applied else IN_OTHER_HANDS
        return LONGEST_SLEEP if following is None else min(following, LONGEST_SLEEP)

    async def _fire(self, due: list[DueSchedule]) -> set[str]:
        if not due:
            return set()
        plans, unreadable = await asyncio.to_thread(plan_all, due)
        applied = await self._store.schedules.fire(list(plans.values()))
        done = [(item, fire) for item in due if item.schedule.name in applied
                for fire in plans[item.schedule.name].fires]  # fmt: skip
        for item, fire in done:
            self._telemetry.emit(event_of(item, fire))
        for name, why in unreadable.items():
            self._telemetry.emit(ServiceFailed(self.name, f"schedule {name!r} cannot be read: {why}"))
        pools = {fire.job.lane.pool for _, fire in done if fire.job is not None}
        if pools:
            await self._store.jobs.wake(pools)
        return applied


def plan_all(due: Sequence[DueSchedule]) -> tuple[dict[str, FirePlan], dict[str, str]]:
    """Plans by schedule name, and errors of unreadable schedules; slow after a long outage, so run it in a thread."""
    plans, unreadable = dict[str, FirePlan](), dict[str, str]()
    for item in due:
        try:
            plans[item.schedule.name] = plan(item, partial(new_id, item.now))
        except ConfigError as error:
            plans[item.schedule.name] = postponed(item)
            unreadable[item.schedule.name] = str(error)
    return plans, unreadable


def new_id(now: float) -> str:
    """A job id for now, by the store's clock."""
    return make_ids(1, now)[0]


def event_of(due: DueSchedule, fire: Fire) -> Event:
    """The event for a fire's outcome."""
    spec = due.schedule.spec
    if fire.job is not None:
        late = max(0.0, due.now - fire.at)
        return ScheduleFired(spec.name, spec.lane.type, spec.lane.tenant, fire.job.id, fire.at, late)
    if fire.outcome is FireOutcome.SKIPPED:
        return ScheduleSkipped(spec.name, fire.at, spec.overlap.value)
    return ScheduleMissed(spec.name, fire.at, fire.times, spec.catch_up.value)
