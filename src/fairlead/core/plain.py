"""A batch of jobs that differ only in id and payload, for bulk enqueueing."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.core.jobs.model import Lane, NewJob


class PlainBatch(NamedTuple):
    """Ready jobs of one lane without options; `ids` and `payloads` have the same order."""

    lane: Lane
    ids: list[str]
    payloads: Sequence[str]

    def jobs(self) -> list[NewJob]:
        """Return the batch as single jobs."""
        return [NewJob(job_id, self.lane, payload) for job_id, payload in zip(self.ids, self.payloads, strict=True)]
