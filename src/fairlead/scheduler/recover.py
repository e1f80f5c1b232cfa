"""Recovers the jobs of lost workers: makes them ready again, or dead if they were lost too often."""

from collections.abc import Mapping, Sequence
from random import Random

from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import Ending, Held, Outcome
from fairlead.core.jobs.settle import settle
from fairlead.core.jobs.states import State
from fairlead.handlers.registered import policies_of
from fairlead.ports.jobs import LIMITS_HINT
from fairlead.records.store import Store
from fairlead.scheduler.crashes import Crashes
from fairlead.telemetry.events import JobsRecovered, Telemetry

BATCH = 500
USUAL = Policies()  # for unknown types


class Recoverer:
    """Finds running jobs whose owner's lease has expired; the store checks that again when it settles them."""

    name = "recover"

    def __init__(self, store: Store, interval: float, telemetry: Telemetry) -> None:
        self._store = store
        self._interval = interval
        self._telemetry = telemetry
        self._random = Random()
        self._crashes = Crashes(store, telemetry)

    async def run_once(self) -> float:
        """Settle one batch of lost jobs; returns the seconds until the next look."""
        lost = await self._store.reader.lost(BATCH)
        if lost:
            await self._recover(lost)
        await self._crashes.tell()
        return 0.0 if len(lost) == BATCH else self._interval

    async def _recover(self, lost: Sequence[Held]) -> None:
        policies = await self._policies(lost)
        last = await self._store.checkpoints.last(job.id for job in lost)
        outcomes = [Outcome(Ending.LOST, checkpoint=last.get(job.id)) for job in lost]
        settlements = [
            settle(job, outcome, policies[job.lane.type], self._random)
            for job, outcome in zip(lost, outcomes, strict=True)
        ]
        settled = await self._store.jobs.settle(settlements, expired_only=True)
        accepted = [item for item in settlements if item.id in settled]
        if accepted:
            dead = sum(item.state is State.DEAD for item in accepted)
            self._telemetry.emit(JobsRecovered(len(accepted), dead))
            self._crashes.note(job for job in lost if job.id in settled)
            await self._store.jobs.wake({LIMITS_HINT, *(job.lane.pool for job in lost)})

    async def _policies(self, lost: Sequence[Held]) -> Mapping[str, Policies]:
        """The declared policies of each type, which say how many lost workers a job survives."""
        types = {job_type.name: job_type for job_type in await self._store.types.all()}
        return {name: policies_of(types[name]) if name in types else USUAL for name in {job.lane.type for job in lost}}
