"""Short ways to make schedules and to look at what they did."""

from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.job_records import JobFilter, JobRecord
from fairlead.core.schedule.fires import created
from fairlead.core.schedule.schedules import FireRecord, Schedule, ScheduleSpec
from fairlead.records.store import Store
from fairlead.recurring.firing import Recurrer
from fairlead.telemetry.events import Event, Telemetry
from tests.contract.making import LANE
from tests.contract.world import World

NOTE = AuditNote("ann", "test", "schedule x")


def spec(name: str = "tick", expression: str = "every 10s", **fields: Any) -> ScheduleSpec:
    """A schedule of the lane that other tests use."""
    return ScheduleSpec(name, expression, fields.pop("zone", "UTC"), fields.pop("lane", LANE), "{}", **fields)


async def add(world: World, wanted: ScheduleSpec, owner: str | None = None) -> Schedule:
    """Store a schedule that begins now."""
    write = created(wanted, owner, await world.store.now())
    assert await world.store.schedules.write(write, NOTE)
    return write.schedule


async def read(store: Store, name: str = "tick") -> Schedule:
    """The schedule as it is now."""
    (schedule,) = await store.schedules.read([name])
    return schedule


async def fires(store: Store, name: str = "tick", most: int = 1000) -> list[FireRecord]:
    """Its fires, oldest first."""
    return (await store.schedules.fires([name], most))[::-1]


async def jobs(store: Store) -> list[JobRecord]:
    """All jobs, by the time they were due."""
    page = await store.reader.list_jobs(JobFilter(), 1000)
    return sorted(page.jobs, key=lambda job: job.run_at)


class Scheduler:
    """One scheduler and what it told."""

    def __init__(self, store: Store) -> None:
        self.events: list[Event] = []
        telemetry = Telemetry()
        telemetry.listen(self.events.append, jobs=False)
        self.recurrer = Recurrer(store, telemetry)

    async def run(self) -> float:
        """Run once."""
        return await self.recurrer.run_once()

    async def run_out(self) -> None:
        """Run until nothing is due."""
        while await self.run() == 0.0:
            pass

    async def run_after(self, world: World, seconds: float) -> float:
        """Let so much time pass and run once."""
        world.advance(seconds)
        return await self.run()
