"""What one tenant got of a pool, measured while it happens."""

from array import array

from fairlead.core.fairness.tenancy import Tenant


class Meter:
    """The slot-seconds and the waits of a tenant.

    With n jobs running, delivered slot-seconds are n * now plus a constant: a start takes its instant off the constant
    and an end adds its own. So nothing has to be done for jobs that merely go on running.
    """

    __slots__ = ("constant", "durations", "ended", "ready", "running", "tenant", "waits")

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.constant = 0.0
        self.running = 0
        self.ended = 0
        self.ready = array("d")
        self.durations = array("f")
        self.waits = array("f")

    def started(self, now: float) -> None:
        """A job begins to run."""
        self.constant -= now
        self.running += 1

    def finished(self, now: float) -> None:
        """A job has ended."""
        self.constant += now
        self.running -= 1
        self.ended += 1

    def waited(self, ready: float, now: float, duration: float) -> None:
        """Keep what is needed to compare with running alone."""
        self.ready.append(ready)
        self.waits.append(now - ready)
        self.durations.append(duration)

    def delivered(self, now: float) -> float:
        """All slot-seconds up to now."""
        return self.constant + self.running * now
