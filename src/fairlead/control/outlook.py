"""What lies ahead of a job: the facts that explain why it waits, and a guess at its start that costs no question."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.control.remembered import Remembered
from fairlead.core.controls import Controls
from fairlead.core.explain import MOST_AHEAD, Explanation, Facts, expected_start, explain
from fairlead.core.health import breakers_of
from fairlead.core.model import JobRecord, Lane, WorkerRecord
from fairlead.core.states import State
from fairlead.ports.store import Store

FRESH = 2.0


class View(NamedTuple):
    """The store at one moment: its clock, since when each active lane waits, and the workers."""

    now: float
    since: Mapping[int, float]
    workers: Sequence[WorkerRecord]


async def explain_job(store: Store, job: JobRecord) -> Explanation:
    """Why this job is where it is."""
    changed = await store.controls()
    controls = Controls()
    controls.follow(changed.controls)
    lane = Lane(job.pool, job.tenant, job.type, job.priority, job.version, job.limits)
    ready = job.state is State.READY
    lanes = {active.lane: active.since for active in await store.active_lanes()} if ready else {}
    types = {job_type.name: job_type for job_type in await store.job_types()}
    job_type = types.get(job.type)
    needs = (job_type.settings.get("needs") or ()) if job_type else ()
    facts = Facts(
        job=job,
        now=changed.now,
        workers=await store.workers(),
        ahead=await store.count_ahead(job.id, MOST_AHEAD) if ready else 0,
        lane_since=lanes.get(lane),
        newest_version=job_type.version if job_type else None,
        controls=controls,
        breakers=breakers_of(job.type, tuple(needs)),
    )
    return explain(facts)


class Outlook:
    """Guesses when jobs start, from a view that is at most moments old."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._view = Remembered(self._look)

    async def expected_start(self, lane: Lane, delay: float, run_at: float | None) -> float | None:
        """When a job that is submitted now should start; None if nobody would run it."""
        view = await self._view.get(FRESH)
        due = view.now + delay if run_at is None else run_at
        return expected_start(lane, due, view.now, view.since.get(lane.id), view.workers)

    async def _look(self) -> View:
        since = {active.lane.id: active.since for active in await self._store.active_lanes()}
        return View((await self._store.controls()).now, since, await self._store.workers())
