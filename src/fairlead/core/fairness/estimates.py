"""How long a job will probably take: a moving average for each type, a careful guess before the first has ended."""

from collections.abc import Callable

from fairlead.core.jobs.pools import BUILT_IN, Pool

LEAST = 0.000_1  # seconds; what a job is charged at least, so that no job is free
KEPT = 0.95  # of the average, at each new observation
LONG = 1.0  # seconds; jobs that will probably take so long are told to the other workers at once


def built_in(name: str) -> Pool:
    """A pool as it is when nobody has changed it."""
    return BUILT_IN.get(name) or Pool(name)


class Estimates:
    """The expected duration of each type; a type that never ran has the estimate of its pool."""

    def __init__(self, pool_of: Callable[[str], Pool] = built_in) -> None:
        self._pool_of = pool_of
        self._averages: dict[str, float] = {}

    def of(self, pool: str, job_type: str) -> float:
        """The seconds that a job of this type is expected to take."""
        average = self._averages.get(job_type)
        return self._pool_of(pool).estimate if average is None else average

    def is_guess(self, job_type: str) -> bool:
        """Whether none of its jobs has ended yet, as far as is known."""
        return job_type not in self._averages

    def learn(self, job_type: str, count: int, seconds: float) -> None:
        """So many more jobs of the type took so many seconds together."""
        mean = max(LEAST, seconds / count)
        average = self._averages.get(job_type)
        kept = 0.0 if average is None else KEPT**count
        self._averages[job_type] = mean if average is None else average * kept + mean * (1.0 - kept)
