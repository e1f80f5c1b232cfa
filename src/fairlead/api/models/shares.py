"""Tenants, what they were due and got, and pools over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from fairlead.api.models.common import Outgoing
from fairlead.core.durations import instant, seconds
from fairlead.core.fairness.ledger import LedgerRow
from fairlead.core.jobs.pools import Pool
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.operate.tenants import TenantBounds, TenantState


class TenantDocument(Outgoing):
    """A tenant: its tier, its weight among the others, the part of a pool it is guaranteed, and what waits."""

    name: str
    tier: str
    weight: float | None
    minimum: float | None
    set_up: bool
    waiting: int
    since: datetime | None
    version: int


class LedgerLine(Outgoing):
    """What a tenant was due and got in a pool within a minute, in slot-seconds."""

    minute: datetime | None
    pool: str
    entitled: float
    delivered: float
    reserved: float
    waiting: int


class SubmissionRate(Outgoing):
    """How many jobs a second, and how many at once."""

    rate: float
    burst: float


class RetryTerms(Outgoing):
    """`ratio` retries for each first attempt within `window` seconds, and `floor` more; null is no limit."""

    ratio: float | None
    floor: int
    window: float
    beyond: str


class TenantDetail(TenantDocument):
    """A tenant, how it competes, what bounds it, and what it was due and got minute by minute, the newest first.

    `depth` is how many of its jobs may wait; null is no bound.
    """

    effective_weight: float
    effective_minimum: float
    effective_most: float
    depth: int | None
    submission_rate: SubmissionRate | None
    retry_budget: RetryTerms
    ledger: list[LedgerLine]


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
    """A pool: how long its jobs should run and wait at most, and the slots of a worker they may take.

    `estimate` is what a job of a type that never ran is charged at first; `beside_others_only` is a concurrency for
    workers that serve other pools too. `attempts` and `timeout` are for types that declare none. A worker has the
    shortest `lease` of the pools it serves; null is the setting of that name.
    """

    name: str
    longest: float | None
    concurrency: int | None
    wait: float | None
    depth: int | None = Field(description="How many of its jobs should be ready; more for five minutes is an alert.")
    estimate: float
    attempts: int | None
    timeout: float | None
    lease: float | None
    beside_others_only: bool
    version: int


class PoolList(Outgoing):
    """The pools, and the types whose jobs go to another one than they declare, with the reason."""

    pools: list[PoolSettings]
    moved: dict[str, dict[str, Any]]


def tenant_document(state: TenantState) -> TenantDocument:
    """A tenant as it is shown."""
    return TenantDocument(**_tenant_fields(state))


def tenant_detail(state: TenantState, bounds: TenantBounds, lines: Sequence[LedgerRow]) -> TenantDetail:
    """A tenant with all that is known of it."""
    weighting, way = state.tenant.weighting, bounds.submission
    return TenantDetail(
        **_tenant_fields(state),
        effective_weight=weighting.weight,
        effective_minimum=weighting.minimum,
        effective_most=weighting.most,
        depth=bounds.depth,
        submission_rate=None if way is None else SubmissionRate(rate=way.rate, burst=way.burst),
        retry_budget=_retry_terms(bounds.budget),
        ledger=[_ledger_line(line) for line in lines],
    )


def _retry_terms(budget: RetryBudget) -> RetryTerms:
    window = seconds(budget.window)
    return RetryTerms(ratio=budget.ratio, floor=budget.floor, window=window, beyond=budget.beyond)


def _tenant_fields(state: TenantState) -> dict[str, Any]:
    tenant = state.tenant
    return {
        "name": tenant.name,
        "tier": tenant.tier,
        "weight": tenant.weight,
        "minimum": tenant.minimum,
        "set_up": state.is_set_up,
        "waiting": state.waiting,
        "since": state.since,
        "version": state.version,
    }


def _ledger_line(line: LedgerRow) -> LedgerLine:
    return LedgerLine(
        minute=instant(line.minute),
        pool=line.pool,
        entitled=line.entitled,
        delivered=line.delivered,
        reserved=line.reserved,
        waiting=line.waiting,
    )


def share_document(line: LedgerRow) -> ShareDocument:
    """A line of the ledger as it is shown."""
    return ShareDocument(
        pool=line.pool,
        tenant=line.tenant,
        entitled=line.entitled,
        delivered=line.delivered,
        reserved=line.reserved,
        waiting=line.waiting,
    )


def pool_settings(pool: Pool, version: int) -> PoolSettings:
    """A pool as it is shown."""
    return PoolSettings(
        name=pool.name,
        longest=pool.longest,
        concurrency=pool.concurrency,
        wait=pool.wait,
        depth=pool.depth,
        estimate=pool.estimate,
        attempts=pool.attempts,
        timeout=pool.timeout,
        lease=pool.lease,
        beside_others_only=pool.shared_only,
        version=version,
    )
