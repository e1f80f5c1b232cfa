"""Tenants, what they were due and got, and pools over HTTP."""

from datetime import datetime
from typing import Any

from fairlead.api.models.common import Outgoing
from fairlead.control.tenants import TenantState
from fairlead.core.ledger import Line
from fairlead.core.pools import Pool


class TenantDocument(Outgoing):
    """A tenant: its tier, its weight among the others, the part of a pool it is guaranteed, and what waits."""

    name: str
    tier: str
    weight: float | None
    minimum: float | None
    set_up: bool
    waiting: int
    since: datetime | None


class TenantList(Outgoing):
    """The tenants that were set up or have work waiting."""

    tenants: list[TenantDocument]


class ShareDocument(Outgoing):
    """What a tenant was due and got in a pool, in slot-seconds, and how many jobs waited at most."""

    pool: str
    tenant: str
    entitled: float
    delivered: float
    reserved: float
    waiting: int


class ShareReport(Outgoing):
    """What tenants were due and got within the last `window` seconds; `jain` is 1 where that was perfectly fair."""

    window: float
    jain: float | None
    shares: list[ShareDocument]


class PoolSettings(Outgoing):
    """A pool: how long its jobs should run and wait at most, and the slots of a worker they may take."""

    name: str
    longest: float | None
    concurrency: int | None
    wait: float | None


class PoolList(Outgoing):
    """The pools, and the types whose jobs go to another one than they declare, with the reason."""

    pools: list[PoolSettings]
    moved: dict[str, dict[str, Any]]


def tenant_document(state: TenantState) -> TenantDocument:
    """A tenant as it is shown."""
    tenant = state.tenant
    return TenantDocument(
        name=tenant.name,
        tier=tenant.tier,
        weight=tenant.weight,
        minimum=tenant.minimum,
        set_up=state.is_set_up,
        waiting=state.waiting,
        since=state.since,
    )


def share_document(line: Line) -> ShareDocument:
    """A line of the ledger as it is shown."""
    return ShareDocument(
        pool=line.pool,
        tenant=line.tenant,
        entitled=line.entitled,
        delivered=line.delivered,
        reserved=line.reserved,
        waiting=line.waiting,
    )


def pool_settings(pool: Pool) -> PoolSettings:
    """A pool as it is shown."""
    return PoolSettings(name=pool.name, longest=pool.longest, concurrency=pool.concurrency, wait=pool.wait)
