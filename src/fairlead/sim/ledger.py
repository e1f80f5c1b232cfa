"""Measures each tenant's slot-seconds and waits, and after each step what the tenant was entitled to.

A tenant is entitled to its part of the slot-seconds delivered to all, given its work: running and waiting jobs. So a
tenant that got all it asked for got its entitlement, and unused slots count for nobody; `busy` shows them.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairlead.core.fairness.entitlement import entitled
from fairlead.core.fairness.tenancy import Tenant

if TYPE_CHECKING:
    from fairlead.sim.pool import Queue


class Meter:
    """The slot-seconds and the waits of a tenant.

    With n running jobs, delivered slot-seconds are n * now plus a constant: a start subtracts its time from the
    constant and an end adds its own, so that running jobs cost nothing.
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
        """Count a job that starts."""
        self.constant -= now
        self.running += 1

    def finished(self, now: float) -> None:
        """Count a job that ended."""
        self.constant += now
        self.running -= 1
        self.ended += 1

    def waited(self, ready: float, now: float, duration: float) -> None:
        """Record a job's wait, and what is needed to compute its wait if the tenant were alone."""
        self.ready.append(ready)
        self.waits.append(now - ready)
        self.durations.append(duration)

    def delivered(self, now: float) -> float:
        """Slot-seconds up to now."""
        return self.constant + self.running * now


class Ledger:
    """Delivered and entitled slot-seconds of a pool's tenants, step by step."""

    def __init__(self, meters: Sequence[Meter], waiting: "Mapping[int, Queue]", slots: int, begin: float) -> None:
        self.meters = meters
        self._queues = waiting
        self.slots = slots
        self.begin = begin
        self.ends: list[float] = []
        self.entitled = [0.0] * len(meters)
        self.delivered = [0.0] * len(meters)
        self.history: list[dict[int, float]] = []  # what each tenant got in each step
        self.waiting: list[int] = []  # jobs, at the end of each step
        self._tenants = {meter.tenant.name: meter.tenant for meter in meters}
        self._index = {meter.tenant.name: number for number, meter in enumerate(meters)}
        self._before = [0.0] * len(meters)

    def step(self, now: float, _: object = None) -> None:
        """End a step; the first call begins the first one."""
        after = [meter.delivered(now) for meter in self.meters]
        if now > self.begin:
            self._close(now, [new - old for new, old in zip(after, self._before, strict=True)])
        self._before = after

    @property
    def busy(self) -> float:
        """The used part of all slot-seconds."""
        seconds = (self.ends[-1] - self.begin) if self.ends else 0.0
        return sum(self.delivered) / (self.slots * seconds) if seconds else 0.0

    def _close(self, now: float, got: list[float]) -> None:
        total = sum(got)
        demand = {self.meters[number].tenant.name: part for number, part in enumerate(got) if part > 0}
        for queue in self._queues.values():
            name = queue.meter.tenant.name
            demand[name] = demand.get(name, 0.0) + min(total, queue.work)
        for name, part in entitled(total, demand, self._tenants).items():
            self.entitled[self._index[name]] += part
        for number, part in enumerate(got):
            self.delivered[number] += part
        self.history.append({number: part for number, part in enumerate(got) if part > 0})
        self.waiting.append(sum(len(queue) for queue in self._queues.values()))
        self.ends.append(now)
