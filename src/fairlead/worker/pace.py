"""How many jobs beyond the free slots may be claimed, because they will start within moments anyway.

They bridge the time that the next claim takes. More would only wait here instead of in the store, where a job that
comes later may still go first because it is its tenant's turn. Those that do not start soon after all are given back
(worker.slots).
"""

import time

SOON = 0.1  # seconds, at most
SOONEST = 0.01
MOST = 7  # times as many as there are slots
CLAIMS = 3  # as many as pass while the jobs claimed ahead find their slots
KEPT = 0.8  # of the average, at each new claim
SPAN = 0.1  # seconds over which the rate is taken


class Pace:
    """The rate at which jobs end, and what a claim takes, over the last moments.

    Of the last two spans the slower one counts: jobs that started together may end together once.
    """

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._ended = 0
        self._rates = (0.0, 0.0)  # of the last two spans
        self._claim = SOON / CLAIMS

    def ended(self, jobs: int = 1) -> None:
        """So many jobs have ended."""
        self._ended += jobs

    def claimed(self, seconds: float) -> None:
        """A claim took so long."""
        self._claim = KEPT * self._claim + (1 - KEPT) * seconds

    def allowance(self, slots: int) -> int:
        """How many more jobs are sure to find a slot soon."""
        now = time.monotonic()
        span = now - self._since
        if span > SPAN:
            self._rates = (self._rates[1], self._ended / span)
            self._ended, self._since = 0, now
        return min(MOST * slots, int(min(self._rates) * min(SOON, max(SOONEST, CLAIMS * self._claim))))
