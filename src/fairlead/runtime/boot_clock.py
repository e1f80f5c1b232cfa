"""The clock since boot: it never jumps and goes on while the machine sleeps; all processes of a host share it."""

import time


def boot_time() -> float:
    """Seconds on a clock that never jumps and does not stop while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
