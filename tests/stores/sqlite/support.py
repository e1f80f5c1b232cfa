"""What the tests of the SQLite store share."""

import time

from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.model import Lane, NewJob, Priority, Unique

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)


def new_jobs(count: int, payload: str = "{}", lane: Lane = LANE, unique: Unique | None = None) -> list[NewJob]:
    """Jobs that are ready at once."""
    return [NewJob(job_id, lane, payload, unique=unique) for job_id in make_ids(count, time.time())]
