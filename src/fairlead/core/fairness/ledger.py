"""The ledger: for each pool, tenant and minute, the slot-seconds that were delivered and those that were due.

Workers add what they delivered. From time to time the leader looks at what was delivered since it last looked, at who
has work waiting, and divides that amount as it should have been divided. A tenant's demand is what it got, plus the
waiting work that was there at both ends of the time between: work that has only just arrived was not kept waiting.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairlead.core.fairness.entitlement import entitled, jain
from fairlead.core.fairness.tenancy import Tenant

MINUTE = 60
NOTICEABLE = 0.001  # slot-seconds; who was due less has no say in how fair it was


class Delivery(NamedTuple):
    """Slot-seconds that ran for a tenant; `reserved` on workers that serve nobody else."""

    pool: str
    tenant: str
    delivered: float
    reserved: float = 0.0


class Unsettled(NamedTuple):
    """What was delivered in a minute, and how much of that has been looked at."""

    minute: int
    pool: str
    tenant: str
    delivered: float
    settled: float


class LedgerEntry(NamedTuple):
    """What is written: the amount looked at, which counts if `seen` still holds, what was due of it, what waits."""

    minute: int
    pool: str
    tenant: str
    seen: float
    settled: float
    entitled: float
    waiting: int


class LedgerRow(NamedTuple):
    """What a tenant was due and got in a pool, in slot-seconds, and how many jobs waited at most."""

    pool: str
    tenant: str
    entitled: float
    delivered: float
    reserved: float
    waiting: int
    minute: int | None = None

    @property
    def ratio(self) -> float | None:
        """Delivered over entitled, where it was entitled to something."""
        return self.delivered / self.entitled if self.entitled > NOTICEABLE else None


class WaitingWork(NamedTuple):
    """What waits for a tenant in a pool: jobs, and the slot-seconds they will probably take."""

    jobs: int
    seconds: float


def settle(
    found: Sequence[Unsettled],
    before: Mapping[tuple[str, str], WaitingWork],
    now: Mapping[tuple[str, str], WaitingWork],
    minute: int,
    tenants: Mapping[str, Tenant],
) -> list[LedgerEntry]:
    """The entries for what was delivered since the last look; `minute` is the present one."""
    by_period: dict[tuple[int, str], list[Unsettled]] = defaultdict(list)
    for item in found:
        by_period[item.minute, item.pool].append(item)
    entries = []
    for (of_minute, pool), items in by_period.items():
        waiting = _still_waiting(pool, before, now) if of_minute >= minute - MINUTE else {}
        entries += _settle_pool(of_minute, pool, items, waiting, tenants)
    return [entry._replace(waiting=_jobs(now, entry) if entry.minute == minute else 0) for entry in entries]


def _settle_pool(
    minute: int, pool: str, items: Iterable[Unsettled], waiting: Mapping[str, float], tenants: Mapping[str, Tenant]
) -> list[LedgerEntry]:
    rows = {item.tenant: item for item in items}
    got = {name: item.delivered - item.settled for name, item in rows.items()}
    demand = {name: got.get(name, 0.0) + waiting.get(name, 0.0) for name in {*got, *waiting}}
    due = entitled(sum(got.values()), demand, tenants)
    entries = []
    for name, amount in due.items():
        item = rows.get(name) or Unsettled(minute, pool, name, 0.0, 0.0)
        entries.append(LedgerEntry(minute, pool, name, item.settled, item.delivered, amount, 0))
    return entries


def _still_waiting(
    pool: str, before: Mapping[tuple[str, str], WaitingWork], now: Mapping[tuple[str, str], WaitingWork]
) -> dict[str, float]:
    both = [key for key in now if key in before and key[0] == pool]
    return {tenant: min(before[pool, tenant].seconds, now[pool, tenant].seconds) for _, tenant in both}


def _jobs(now: Mapping[tuple[str, str], WaitingWork], entry: LedgerEntry) -> int:
    backlog = now.get((entry.pool, entry.tenant))
    return backlog.jobs if backlog else 0


def fairness(lines: Iterable[LedgerRow]) -> float:
    """Jain's index of delivered over entitled."""
    return jain([line.ratio for line in lines if line.ratio is not None])
