"""Run time estimates: a moving average for each type, or the pool's estimate before the first job has ended."""

from collections.abc import Callable

from fairlead.core.jobs.pools import BUILT_IN, Pool

LEAST = 0.000_1  # seconds; the least charge, so that no job is free
KEPT = 0.95  # the weight of the old average at each new run
LONG = 1.0  # seconds; claims of jobs with so long estimates are shared with other workers at once


def built_in(name: str) -> Pool:
    """Return a pool with its built-in settings."""
    return BUILT_IN.get(name) or Pool(name)


class Estimates:
    """The expected run time of each type; a type that never ran has the estimate of its pool."""

    def __init__(self, pool_of: Callable[[str], Pool] = built_in) -> None:
        self._pool_of = pool_of
        self._averages: dict[str, float] = {}

    def of(self, pool: str, job_type: str) -> float:
        """Return the expected run time of a job in seconds."""
        average = self._averages.get(job_type)
        return self._pool_of(pool).estimate if average is None else average

    def is_guess(self, job_type: str) -> bool:
        """Whether no job of the type has ended yet in this worker."""
        return job_type not in self._averages

    def learn(self, job_type: str, count: int, seconds: float) -> None:
        """Add `count` ended jobs that took `seconds` in all."""
        mean = max(LEAST, seconds / count)
        average = self._averages.get(job_type)
        kept = 0.0 if average is None else KEPT**count
        self._averages[job_type] = mean if average is None else average * kept + mean * (1.0 - kept)
