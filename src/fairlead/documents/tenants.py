"""Tenants: their standing among others, the bounds in force for them, and what they were due and got."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from fairlead.core.durations import instant, seconds
from fairlead.core.fairness.ledger import LedgerRow
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.protection.token_bucket import RateLimit
from fairlead.documents.base import Document


class TenantDocument(Document):
    """A tenant: its tier, its weight among the others, the part of a pool it is guaranteed, and what waits."""

    name: str
    tier: str
    weight: float | None = Field(description="Its own weight; null is its tier's.")
    minimum: float | None = Field(description="Its own guaranteed part of a pool; null is its tier's.")
    set_up: bool
    waiting: int
    since: datetime | None
    version: int

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a tenant's state."""
        tenant = record.tenant
        return cls(
            name=tenant.name,
            tier=tenant.tier,
            weight=tenant.weight,
            minimum=tenant.minimum,
            set_up=record.is_set_up,
            waiting=record.waiting,
            since=record.since,
            version=record.version,
            **fields,
        )


class LedgerLine(Document):
    """What a tenant was due and got in a pool, in slot-seconds, and how many jobs waited at most."""

    minute: datetime | None = Field(description="Null where the line is about a whole window.")
    pool: str
    tenant: str
    entitled: float
    delivered: float
    reserved: float
    waiting: int
    ratio: float | None = Field(description="Delivered over entitled, where it was entitled to something.")

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a line."""
        assert isinstance(record, LedgerRow)
        return super().of(record, minute=instant(record.minute), **fields)


class SubmissionRate(Document):
    """How many jobs a second, and how many at once."""

    rate: float
    burst: float


class RetryTerms(Document):
    """`ratio` retries for each first attempt within `window` seconds, and `floor` more; null is no limit."""

    ratio: float | None
    floor: int
    window: float
    beyond: str

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a retry budget."""
        assert isinstance(record, RetryBudget)
        return super().of(record, window=seconds(record.window), **fields)


class TenantDetail(TenantDocument):
    """A tenant, its standing, its bounds, and what it was due and got minute by minute, the newest first."""

    effective_weight: float
    effective_minimum: float
    effective_most: float
    depth: int | None = Field(description="How many of its jobs may wait; null is no bound.")
    submission_rate: SubmissionRate | None
    retry_budget: RetryTerms
    ledger: list[LedgerLine]

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a tenant's state with `bounds` and `lines` of the ledger."""
        standing, bounds, lines = record.tenant.weighting, fields.pop("bounds"), fields.pop("lines")
        flow: RateLimit | None = bounds.submission
        return super().of(
            record,
            effective_weight=standing.weight,
            effective_minimum=standing.minimum,
            effective_most=standing.most,
            depth=bounds.depth,
            submission_rate=flow and SubmissionRate.of(flow),
            retry_budget=RetryTerms.of(bounds.budget),
            ledger=[LedgerLine.of(line) for line in lines],
            **fields,
        )


class TenantList(Document):
    """The tenants that were set up or have work waiting."""

    tenants: list[TenantDocument]


class TierDocument(Document):
    """The terms of a tier's tenants unless they have their own; `together` is a tier whose tenants share it."""

    name: str
    weight: float
    minimum: float
    most: float
    together: bool


class TierList(Document):
    """The tiers, and the one of tenants that nobody has set up."""

    tiers: list[TierDocument]
    default: str


class ShareReport(Document):
    """What tenants were due and got within the last `window` seconds; `jain` is 1 where that was perfectly fair."""

    window: float
    jain: float | None
    shares: list[LedgerLine]
