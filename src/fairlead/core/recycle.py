"""When a worker process should be replaced by a new one."""

LEAST_LOST = 4
TOLERATED_SHARE = 4


def is_worn(lost: int, slots: int) -> bool:
    """Whether too many slots are taken by handlers that cannot be stopped: over a quarter and at least four, or all."""
    return lost >= min(slots, max(LEAST_LOST, slots // TOLERATED_SHARE + 1))
