"""What a store does after it expired jobs: store those that follow, in the same transaction."""

from collections.abc import Generator, Iterable
from typing import Any

from fairlead.core.late import ExpiredJob, follow_up
from fairlead.stores import rows
from fairlead.stores.enqueue import Ask, Step, job_row
from fairlead.stores.lanes import ensure_lanes

Script = Generator[Step | Ask, list[Any], None]


def follow_script(ids: Iterable[str]) -> Script:
    """Store the job that each of these, just expired, has named for this case."""
    batch = [{"id": job_id} for job_id in ids]
    found = (yield Step("read_expired", batch)) if batch else []
    following = [job for row in found if (job := follow_up(_expired(row))) is not None]
    if following:
        yield from ensure_lanes({job.lane for job in following})
        yield Step("insert_jobs", [job_row(job) for job in following])


def _expired(row: Any) -> ExpiredJob:
    """From (id, run_at, not_after, finished_at, options, and the columns of a lane)."""
    return ExpiredJob(row[0], rows.lane_of(row[5:]), row[1], row[2], row[3], row[4])
