"""Far schedules are spread a little, so that what many name the same minute does not arrive in the same second."""

from random import Random

FAR = 3600.0
MOST = 60.0


def spread(wait: float, latest: float | None, rng: Random) -> float:
    """A wait of more than an hour, up to a minute more or less; never beyond `latest`, the wait until not_after."""
    if wait <= FAR:
        return wait
    moved = wait + rng.uniform(-MOST, MOST)
    return wait if latest is not None and moved > latest else moved
