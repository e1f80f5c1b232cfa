"""Entitled against delivered: after each step, what every tenant should have had of it.

A tenant is entitled to its part of the slot-seconds that were delivered to all, given the work it had: what ran, and
what still waits. So a tenant that got all it asked for has got what it was entitled to, and slots that nobody could use
are nobody's loss; `busy` tells them.
"""

from collections.abc import Mapping, Sequence

from fairlead.core.fairness.entitlement import entitled
from fairlead.sim.meter import Meter
from fairlead.sim.yard import Queue


class Ledger:
    """The accounts of a pool, step by step."""

    def __init__(self, meters: Sequence[Meter], waiting: Mapping[int, Queue], slots: int, begin: float) -> None:
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
        """Close a step; the first call opens the first one."""
        after = [meter.delivered(now) for meter in self.meters]
        if now > self.begin:
            self._close(now, [new - old for new, old in zip(after, self._before, strict=True)])
        self._before = after

    @property
    def busy(self) -> float:
        """The part of all slot-seconds that was used."""
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
