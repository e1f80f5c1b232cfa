"""How many jobs beyond the free slots may be claimed, because they will start within moments anyway."""

import time

SOON = 0.1
SPAN = 0.5


class Pace:
    """The rate at which jobs end, over the last moments."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._ended = 0
        self._rate = 0.0

    def ended(self) -> None:
        """A job has ended."""
        self._ended += 1

    def allowance(self, slots: int) -> int:
        """How many more jobs are sure to find a slot soon; never more than there are slots."""
        now = time.monotonic()
        span = now - self._since
        if span > SPAN:
            self._rate, self._ended, self._since = self._ended / span, 0, now
        return min(slots, int(self._rate * SOON))
