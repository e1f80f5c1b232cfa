"""The most common submission, and the fastest way in: many jobs that differ in nothing but their payloads."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.core.jobs.model import Lane, NewJob


class PlainBatch(NamedTuple):
    """Jobs that are ready now and have nothing but their lane and their payload; ids and payloads go in step."""

    lane: Lane
    ids: list[str]
    payloads: Sequence[str]

    def jobs(self) -> list[NewJob]:
        """The same jobs one by one."""
        return [NewJob(job_id, self.lane, payload) for job_id, payload in zip(self.ids, self.payloads, strict=True)]
