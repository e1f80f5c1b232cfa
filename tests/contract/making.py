"""Short ways to make what tests hand to stores."""

import time
from random import Random
from typing import Any
from uuid import uuid4

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.model import (
    ActiveLane,
    Claim,
    Ending,
    ErrorInfo,
    Held,
    Lane,
    Lease,
    NewJob,
    Outcome,
    Priority,
    Quota,
    Scope,
    Settlement,
    Unique,
)
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.settle import settle
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import WorkerInfo
from fairlead.records.store import Store

LANE = Lane("default", "acme", "mail", Priority.DEFAULT, 1)
POLICY = Retry(attempts=3, first=10, factor=2, cap=100)
ERROR = ErrorInfo("ValueError", "no such address", "Traceback ...")


class LongestDelay(Random):
    """Jitter that always draws the upper bound, so that tests know the delay."""

    def uniform(self, a: float, b: float) -> float:
        """The upper bound."""
        return b


def new_id() -> str:
    """A job id."""
    return make_ids(1, time.time())[0]


def new_job(lane: Lane = LANE, payload: str = "{}", **fields: Any) -> NewJob:
    """A job that is ready, or scheduled where it has a delay."""
    if fields.get("delay") or fields.get("run_at"):
        fields.setdefault("state", State.SCHEDULED)
    return NewJob(new_id(), lane, payload, **fields)


def new_jobs(count: int, lane: Lane = LANE, **fields: Any) -> list[NewJob]:
    """Jobs whose ids rise."""
    return [new_job(lane, **fields) for _ in range(count)]


def keyed_job(key: str, lane: Lane = LANE, scope: Scope = Scope.ACTIVE, window: float | None = None) -> NewJob:
    """A job with an idempotency key."""
    return new_job(lane, unique=Unique(key, scope, window))


def new_lease() -> Lease:
    """The lease of a worker that is not registered."""
    return Lease(str(uuid4()), str(uuid4()))


def same_worker(lease: Lease) -> Lease:
    """The next claim of a worker."""
    return Lease(lease.owner, str(uuid4()))


def worker_info(worker_id: str) -> WorkerInfo:
    """A worker as it registers itself."""
    return WorkerInfo(worker_id, "host-1", 4711, ("default",), ("mail",), 10, "1.0")


async def enqueue_one(store: Store, lane: Lane = LANE, **fields: Any) -> NewJob:
    """Store one job."""
    job = new_job(lane, **fields)
    await store.jobs.enqueue([job])
    return job


async def claim(store: Store, lease: Lease, most: int = 100, lane: Lane = LANE) -> list[Claim]:
    """Claim from one lane."""
    return await store.jobs.claim([Quota(lane.id, most)], lease)


async def claim_one(store: Store, lease: Lease, lane: Lane = LANE) -> Claim:
    """Claim the first job of a lane, which must have one."""
    (claimed,) = await claim(store, lease, 1, lane)
    return claimed


def ended(job: Claim | Held, ending: Ending, result: str | None = None, error: ErrorInfo | None = None) -> Settlement:
    """What core decides about a run that ended so."""
    if error is None and ending in (Ending.FAILED, Ending.TIMED_OUT):
        error = ERROR
    return settle(job, Outcome(ending, result, error), POLICY, LongestDelay())


def done(job: Claim | Held, result: str | None = None) -> Settlement:
    """Success."""
    return ended(job, Ending.SUCCEEDED, result)


def failed(job: Claim | Held, permanent: bool = False) -> Settlement:
    """Failure; a permanent one kills the job."""
    failure = FailureClass.PERMANENT if permanent else FailureClass.APPLICATION
    return ended(job, Ending.FAILED, error=ErrorInfo(ERROR.type, ERROR.message, ERROR.traceback, failure))


async def finish(store: Store, job: Claim) -> None:
    """End a job well."""
    assert await store.jobs.settle([done(job)]) == {job.id}


async def run_to_end(store: Store, lease: Lease, lane: Lane = LANE) -> list[Claim]:
    """Claim all ready jobs of a lane and end them well."""
    claims = await claim(store, lease, 1000, lane)
    assert await store.jobs.settle([done(job) for job in claims]) == {job.id for job in claims}
    return claims


async def state_of(store: Store, job_id: str) -> State | None:
    """Where a job is, or None where there is none."""
    record = await store.reader.read(job_id)
    return record.state if record else None


async def one_held(store: Store, job_id: str) -> Held:
    """A live job as another settler sees it."""
    (held,) = await store.reader.held([job_id])
    return held


def lanes_of(active: list[ActiveLane]) -> set[Lane]:
    """The lanes alone."""
    return {item.lane for item in active}
