"""A manual clock for tests."""

import time

from fairlead.core.durations import Duration, seconds


class ManualClock:
    """The time of a SQLite store: `App("sqlite:///:memory:", clock=ManualClock())`."""

    def __init__(self, start: float | None = None) -> None:
        """`start` is in seconds since 1970; without it the clock begins at the present second."""
        self._now = float(int(time.time())) if start is None else start

    def __call__(self) -> float:
        """The current time of the clock, in seconds since 1970."""
        return self._now

    def advance(self, duration: Duration) -> None:
        """Move the clock forward: seconds, a text like "10m", or a timedelta."""
        self._now += seconds(duration)
