"""Ends jobs whose `not_after` has passed while they waited: as expired, or as dead where they had run and failed.

A worker does the same with a late job that it claims. Both go through core.jobs.settle and store.jobs.settle, which
also stores the job that the submitter named for this case.
"""

from random import Random

from fairlead.core.jobs.expiry import LateJob, expiry_error
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import Ending, Outcome, Settlement
from fairlead.core.jobs.settle import settle
from fairlead.core.jobs.states import State
from fairlead.ports.jobs import EVERYONE
from fairlead.records.store import Store
from fairlead.telemetry.events import LateExecution, Telemetry

BATCH = 500
INTERVAL = 5.0
ANY = Policies()  # it is not retried whatever its policy says


class Expirer:
    """Finds late jobs by the index on `not_after`."""

    name = "expire"

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry
        self._random = Random()

    async def run_once(self) -> float:
        """Expire one batch; returns the seconds until the next look."""
        late = await self._store.promotion.late(BATCH)
        if not late:
            return INTERVAL
        decided = {item.job.id: self._settlement(item) for item in late}
        settled = await self._store.jobs.settle(list(decided.values()))
        for job, late_by in late:
            if job.id in settled and decided[job.id].state is State.EXPIRED:
                self._telemetry.emit(LateExecution(job.id, job.lane.type, job.lane.tenant, late_by))
        if settled:
            await self._store.jobs.wake([EVERYONE])  # the on_late jobs may be in any pool
        return 0.0 if len(late) == BATCH and settled else INTERVAL

    def _settlement(self, late: LateJob) -> Settlement:
        return settle(late.job, Outcome(Ending.EXPIRED, error=expiry_error(late.late_by)), ANY, self._random)
