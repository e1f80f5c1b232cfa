"""How soon a worker follows a hint: at once, unless those before it were all in vain.

Every worker hears of every job, and one of them gets it. Where many are idle the others would ask the database in vain,
each time. Those who have found nothing for some hints let the others go first, for a moment that grows; who finds
something is eager again.
"""

import random

PATIENT = 8  # hints in vain, after which it begins to wait
SHORTEST = 0.001  # seconds
LONGEST = 0.01


class Eagerness:
    """That of one worker."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._vain = 0
        self._random = rng or random.Random()

    def followed(self, found: bool) -> None:
        """A hint was followed."""
        self._vain = 0 if found else self._vain + 1

    def pause(self) -> float:
        """Seconds to wait before the next hint is followed."""
        beyond = self._vain - PATIENT
        return 0.0 if beyond < 0 else self._random.uniform(0.0, min(LONGEST, SHORTEST * 2.0 ** min(beyond, 10)))
