"""The fairness ledger: delivered and entitled slot-seconds for each pool, tenant and minute.

Workers add deliveries. Periodically the leader takes the deliveries since its last round and divides their sum by
entitlement. A tenant's demand is its deliveries plus the work that waited at both ends of the period: work that has
only just arrived was not kept waiting.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairlead.core.fairness.entitlement import entitled, jain
from fairlead.core.fairness.tenancy import Tenant

MINUTE = 60
NOTICEABLE = 0.001  # slot-seconds; tenants with less entitlement are left out of the fairness index


class Delivery(NamedTuple):
    """Slot-seconds that ran for a tenant; `reserved` is the part on workers reserved for it."""

    pool: str
    tenant: str
    delivered: float
    reserved: float = 0.0


class Unsettled(NamedTuple):
    """The deliveries of a minute, and the part that already has an entitlement."""

    minute: int
    pool: str
    tenant: str
    delivered: float
    settled: float


class LedgerEntry(NamedTuple):
    """A ledger write, a compare-and-swap on `seen`: the settled deliveries, the entitlement, the waiting jobs."""

    minute: int
    pool: str
    tenant: str
    seen: float
    settled: float
    entitled: float
    waiting: int


class LedgerRow(NamedTuple):
    """A tenant's entitled and delivered slot-seconds in a pool, and the most jobs that waited."""

    pool: str
    tenant: str
    entitled: float
    delivered: float
    reserved: float
    waiting: int
    minute: int | None = None

    @property
    def ratio(self) -> float | None:
        """Delivered over entitled; None without entitlement."""
        return self.delivered / self.entitled if self.entitled > NOTICEABLE else None


class WaitingWork(NamedTuple):
    """A tenant's waiting work in a pool: jobs, and their estimated slot-seconds."""

    jobs: int
    seconds: float


def settle(
    found: Sequence[Unsettled],
    before: Mapping[tuple[str, str], WaitingWork],
    now: Mapping[tuple[str, str], WaitingWork],
    minute: int,
    tenants: Mapping[str, Tenant],
) -> list[LedgerEntry]:
    """Return the ledger writes for deliveries since the last round; `minute` is the present one."""
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
    """Return Jain's index of delivered over entitled."""
    return jain([line.ratio for line in lines if line.ratio is not None])
