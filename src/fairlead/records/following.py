"""Follow-up jobs of ended jobs, stored in the transaction that ends them.

An expired job can name a follow-up handler, and every job can name a callback endpoint that gets a delivery.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.jobs.expiry import ExpiredJob, follow_up
from fairlead.core.jobs.model import NewJob
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import EVERYONE, EndedJob, delivery, endpoint_named, nearest, wants_callback
from fairlead.ports.database import RunEach, Script
from fairlead.records import rows
from fairlead.records.callbacks import endpoint_of
from fairlead.records.enqueue import job_row
from fairlead.records.lanes import ensure_lanes


def follow_script(ids: Iterable[str]) -> Script[None]:
    """Store the follow-up jobs and deliveries of jobs that have just ended."""
    batch = [{"id": job_id} for job_id in ids]
    found = (yield RunEach("read_ended", batch)) if batch else []
    following = [job for row in found if (job := _after_expiry(row)) is not None]
    following += yield from _deliveries([_ended(row) for row in found if wants_callback(row[13])])
    if following:
        yield from ensure_lanes({job.lane for job in following})
        yield RunEach("insert_jobs", [job_row(job) for job in following])


def _deliveries(ended: Sequence[EndedJob]) -> Script[list[NewJob]]:
    """Return the delivery jobs for the endpoints that these jobs name."""
    named = [(job, name) for job in ended if (name := endpoint_named(job.options)) is not None]
    wanted = sorted({(owner, name) for job, name in named for owner in (job.lane.tenant, EVERYONE)})
    if not wanted:
        return []
    found = yield RunEach("read_callbacks", [{"owner": owner, "name": name} for owner, name in wanted])
    endpoints = [endpoint_of(row) for row in found]
    made = [delivery(job, nearest(endpoints, job.lane.tenant, name)) for job, name in named]
    return [job for job in made if job is not None]


def _after_expiry(row: Any) -> NewJob | None:
    if row[1] != State.EXPIRED.value or row[6] is None:
        return None
    return follow_up(ExpiredJob(row[0], rows.lane_of(row[14:]), row[5], row[6], row[8], row[13]))


def _ended(row: Any) -> EndedJob:
    """From (id, state, attempt, fence, created_at, run_at, not_after, started_at, finished_at, key, result, error_type,
    error_message, options, and the columns of a lane)."""
    return EndedJob(
        id=row[0],
        lane=rows.lane_of(row[14:]),
        state=State(row[1]),
        attempt=row[2],
        fence=row[3],
        created_at=row[4],
        started_at=row[7],
        finished_at=row[8],
        key=row[9],
        result=row[10],
        error_type=row[11],
        error_message=row[12],
        options=row[13],
    )
