"""An outage: many jobs whose dependency is down for a while, and the history of what their handlers did."""

import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import fairlead
from fairlead.core.jobs.states import State
from fairlead.core.protection.breaker import BreakerState, Phase, allowance
from fairlead.telemetry.events import BreakerClosed, BreakerHalfOpen, BreakerOpened, BreakerRamping, Event

Kind = TypeVar("Kind", bound=Event)

POLICY = fairlead.Breaker(
    minimum=20, window="10s", cooldown="1s", longest_cooldown="2s", probes=3, patience="30s", ramp="2s"
)  # fmt: skip
RETRY = fairlead.Retry.fixed("100ms", attempts=5)
SOUND = 100  # runs before the dependency goes down
TENANTS = 4


@dataclass
class Outage:
    """The dependency goes down after some runs, and heals when the breaker has opened for the second time."""

    jobs: int
    down: bool = False
    starts: list[float] = field(default_factory=list)
    failures: list[float] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    done: int = 0

    def declare(self, app: fairlead.App) -> fairlead.Handler[..., Any]:
        """The type that needs the dependency."""
        app.dependency("stripe", POLICY)
        app.on_event(self.on_event, jobs=False)

        @app.handler("charge", needs=["stripe"], retry=RETRY)
        async def charge() -> None:
            self.starts.append(time.time())
            if self.down:
                self.failures.append(time.time())
                raise ConnectionError("stripe is away")
            self.done += 1
            self.down = self.done == SOUND

        return charge

    def on_event(self, event: Event) -> None:
        """Heal in time."""
        self.events.append(event)
        if isinstance(event, BreakerOpened) and event.openings == 2:
            self.down = False

    async def run(self, url: str, concurrency: int = 50) -> list[fairlead.JobRecord]:
        """Submit the jobs and run them all to their end."""
        app = fairlead.App(url, poll="100ms")
        charge = self.declare(app)
        async with app:
            jobs: list[fairlead.Job] = []
            for at in range(TENANTS):
                jobs += await charge.options(tenant=f"tenant-{at}").enqueue_many([{}] * (self.jobs // TENANTS))
            async with app.worker(concurrency=concurrency):
                for job in jobs:
                    await job.wait(timeout=300)
            store = await app.store()
            records = [
                record for at in range(0, len(jobs), 500) for record in await store.reader.read_many(ids(jobs, at))
            ]
            assert (await store.controls.read()).controls == [], "the breaker is closed in the end"
            return records

    def check(self, records: list[fairlead.JobRecord]) -> None:
        """What must hold of the history, however fast or slow the machine is."""
        assert [record.state for record in records] == [State.SUCCEEDED] * self.jobs
        opened, half_open = self._of(BreakerOpened), self._of(BreakerHalfOpen)
        ramping, closed = self._of(BreakerRamping), self._of(BreakerClosed)
        assert [event.openings for event in opened] == list(range(1, len(opened) + 1))
        assert len(opened) >= 2, "probes have failed once, or this proves nothing"
        assert (len(ramping), len(closed)) == (1, 1)
        burnt = sum(record.attempt - 1 for record in records)
        assert burnt <= sum(moment < half_open[0].since for moment in self.failures), "probes burn no attempt"
        assert len(self.failures) - burnt >= 2
        phases = [event for event in self.events if isinstance(event, BreakerOpened | BreakerHalfOpen | BreakerRamping)]
        for event, following in pairwise(phases):
            if isinstance(event, BreakerHalfOpen):
                assert len(self._started(event.since, following.since)) <= POLICY.probes
        self._check_ramp(ramping[0])

    def _check_ramp(self, event: BreakerRamping) -> None:
        """Each start comes after so many others at most as the ramp has allowed by then."""
        ramp = BreakerState(Phase.RAMPING, event.since, None, "", POLICY)
        starts = self._started(event.since, event.since + event.ramp)
        assert starts, "jobs were left for the ramp, or this proves nothing"
        for at, moment in enumerate(starts):
            assert at < allowance(ramp, moment), f"start {at} after {moment - event.since:.3f} s"

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    def _started(self, begin: float, end: float) -> list[float]:
        return sorted(moment for moment in self.starts if begin <= moment < end)


def ids(jobs: list[fairlead.Job], at: int) -> list[str]:
    """The ids of a part of the jobs."""
    return [job.id for job in jobs[at : at + 500]]
