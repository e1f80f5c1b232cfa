"""How many jobs beyond the free slots may be claimed, because they will start within moments anyway.

They bridge the time that the next claim takes. More would only wait here instead of in the store, where a job that
comes later may still go first because it is its tenant's turn. Those that do not start soon after all are given back
(worker.slots).
"""

import time

SOON = 0.1  # seconds, at most
SOONEST = 0.01
MOST = 3_500
CLAIMS = 3  # as many as pass while the jobs claimed ahead find their slots
KEPT = 0.8  # of the average, at each new claim
SPAN = 0.1  # seconds over which a rate is taken
SHORTEST = 0.0001  # seconds; a span is taken for no shorter
TELLING = 200  # jobs; fewer that ended quickly say little about the next one


class Pace:
    """The rate at which jobs end while there are any at hand, and what a claim takes, over the last moments.

    Of the last two spans the slower one counts: jobs that started together may end together once. A span is also over
    when as many jobs have ended as there are slots, and enough of them to tell, if that tells of a higher rate: who has
    begun to run quick jobs soon claims as many as it can use. What a claim takes that finds the worker with empty hands
    is not counted: that is the time to be bridged.
    """

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._ended = 0
        self._idle = 0.0  # seconds of the span in which a claim was waited for, and there was nothing else to do
        self._empty_at: float | None = None
        self._rates = (0.0, 0.0)  # of the last two spans
        self._claim = SOON / CLAIMS

    def ended(self, jobs: int = 1, left: int = 1) -> None:
        """So many jobs have ended, and so many are left."""
        self._ended += jobs
        self._empty_at = None if left else time.monotonic()

    def claimed(self, seconds: float) -> None:
        """A claim took so long."""
        self._claim = KEPT * self._claim + (1 - KEPT) * seconds
        if self._empty_at is not None:
            self._idle += min(seconds, time.monotonic() - self._empty_at)
            self._empty_at = None

    def allowance(self, slots: int) -> int:
        """How many more jobs are sure to find a slot soon."""
        now = time.monotonic()
        span = now - self._since
        rate = self._ended / max(span - self._idle, SHORTEST)
        if span > SPAN or (self._ended >= max(slots, TELLING) and rate > min(self._rates)):
            self._rates = (self._rates[1], rate)
            self._ended, self._idle, self._since = 0, 0.0, now
        return min(MOST, int(min(self._rates) * min(SOON, max(SOONEST, CLAIMS * self._claim))))
