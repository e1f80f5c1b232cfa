"""What operators set at run time over HTTP: tenants, pools, limits, backpressure, retry budgets.

`version` counts the changes of a setting and is its ETag; 0 is one that nobody has set.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import Field, StringConstraints

from fairlead.api.models.common import NUMBER_ONLY, Incoming, Name, Outgoing, PriorityWord, Seconds, Text
from fairlead.core.fairness.tenancy import LEAST_WEIGHT, MOST_GUARANTEED, MOST_WEIGHT, TIERS
from fairlead.core.jobs.pools import LONGEST_LEASE, MOST_CONCURRENCY, SHORTEST_LEASE
from fairlead.core.jobs.retry import MAX_ATTEMPTS
from fairlead.core.protection.backpressure import DEPTH, MOST_WAITING, OVERLOAD, POLICY, SUBMISSION, Action, Overload
from fairlead.core.protection.limits import MOST_CONCURRENT
from fairlead.core.protection.retry_budget import Beyond
from fairlead.core.protection.token_bucket import MOST
from fairlead.operate.backpressure import Bounds
from fairlead.operate.retry_budgets import BudgetStatus

NAME = "[A-Za-z0-9_][A-Za-z0-9_.:@/-]{0,199}"
SLOWEST = 0.000_000_1  # a second; once in four months

TierName = Annotated[str, StringConstraints(pattern=f"^({'|'.join(TIERS)})$")]
Weight = Annotated[float, Field(strict=True, ge=LEAST_WEIGHT, le=MOST_WEIGHT)]
Minimum = Annotated[float, Field(strict=True, ge=0, le=MOST_GUARANTEED, description="The part of a pool.")]
Span = Annotated[float, Field(strict=True, ge=0.001, lt=1e9, description="Seconds.")]
LeaseSpan = Annotated[float, Field(strict=True, ge=SHORTEST_LEASE, le=LONGEST_LEASE, description="Seconds.")]
Rate = Annotated[float, Field(strict=True, ge=SLOWEST, le=MOST, description="So many a second.")]
Burst = Annotated[float, Field(strict=True, ge=1, le=MOST, description="So many at once after a quiet time.")]
Slots = Annotated[int, Field(ge=1, le=MOST_CONCURRENCY), NUMBER_ONLY]
Attempts = Annotated[int, Field(ge=1, le=MAX_ATTEMPTS), NUMBER_ONLY]
Runs = Annotated[int, Field(ge=0, le=MOST_CONCURRENT), NUMBER_ONLY]
Waiting = Annotated[int, Field(ge=0, le=MOST_WAITING), NUMBER_ONLY]
Yes = Annotated[bool, Field(strict=True)]

NamePath = Annotated[str, Path(pattern=f"^{NAME}$")]
LimitScope = Annotated[Literal["type", "tenant", "pool", "tenant+pool", "dependency", "limit"], Path()]
LimitPath = Annotated[
    str,
    Path(
        pattern=rf"^(\*|{NAME}([+=~][A-Za-z0-9_.:@/~-]{{1,199}})?)$",
        description="A name; `acme+short` for a tenant in a pool, `stripe=7` for one key of a declared limit, "
        "`*` for each of the kind by itself.",
    ),
]
RuleScope = Annotated[Literal["tenant", "tier"], Path()]
RulePath = Annotated[str, Path(pattern=rf"^(\*|{NAME})$", description="A name; `*` for each tenant by itself.")]


class Reasoned(Incoming):
    """A change, with why it is made, for the audit."""

    reason: Text | None = None

    def changes(self) -> dict[str, Any]:
        """What was given."""
        return self.model_dump(exclude_unset=True, exclude={"reason"})


class TenantSetting(Reasoned):
    """A tenant from now on; without a weight or minimum of its own it has its tier's."""

    tier: TierName
    weight: Weight | None = None
    minimum: Minimum | None = None


class TenantChange(Reasoned):
    """What to change of a tenant; a weight or minimum of null is its tier's."""

    tier: TierName | None = None
    weight: Weight | None = None
    minimum: Minimum | None = None


class DefaultTier(Reasoned):
    """The tier of tenants that nobody has set up."""

    tier: TierName


class TierDocument(Outgoing):
    """What tenants of a tier have unless they have their own; `together` is a tier whose tenants share it."""

    name: str
    weight: float
    minimum: float
    most: float
    together: bool


class TierList(Outgoing):
    """The tiers, and which one tenants have that nobody has set up."""

    tiers: list[TierDocument]
    default: str


class PoolChange(Reasoned):
    """Settings of a pool; null is no limit, and an estimate of null is left as it is."""

    longest: Span | None = None
    concurrency: Slots | None = None
    estimate: Span | None = None
    wait: Span | None = None
    depth: Waiting | None = None
    attempts: Attempts | None = None
    timeout: Span | None = None
    lease: LeaseSpan | None = None

    def changes(self) -> dict[str, Any]:
        """What was given."""
        return {key: value for key, value in super().changes().items() if key != "estimate" or value is not None}


class LimitSetting(Reasoned):
    """How many may run at once, how many may start in a time, or `unlimited` to lift what a handler declares."""

    concurrent: Runs | None = None
    rate: Rate | None = None
    burst: Burst | None = None
    unlimited: Yes = False


class DepthSetting(Reasoned):
    """How many jobs may wait."""

    waiting: Waiting


class RateSetting(Reasoned):
    """How fast jobs may be submitted."""

    rate: Rate
    burst: Burst | None = None


class OverloadSetting(Reasoned):
    """From `waiting` ready jobs on, jobs of a lower priority than `below` are rejected, put off by `delay` or shed."""

    waiting: Waiting
    action: Action = Action.REJECT
    below: PriorityWord = "default"
    delay: Seconds = 60.0


class BudgetSetting(Reasoned):
    """`ratio` retries for each first attempt within `window` seconds, and `floor` more; null is no limit.

    What goes beyond is sent to the dead letters, or delayed.
    """

    ratio: Annotated[float, Field(strict=True, ge=0, le=1e9)] | None
    floor: Annotated[int, Field(ge=1, le=10**9), NUMBER_ONLY] = 100
    window: Annotated[float, Field(strict=True, ge=1, le=86_400)] = 60.0
    beyond: Beyond = "dead"


class DepthRule(Outgoing):
    """How many jobs of a tenant, of each of a tier's tenants, or of each tenant may wait."""

    scope: str
    name: str
    waiting: int
    version: int


class RateRule(Outgoing):
    """How fast a tenant, each of a tier's tenants, or each tenant may submit."""

    scope: str
    name: str
    rate: float
    burst: float
    version: int


class OverloadDocument(Outgoing):
    """What becomes of low priorities in an overload."""

    waiting: int
    action: str
    below: str
    delay: float
    version: int


class AdmissionCount(Outgoing):
    """How many jobs of a tenant were refused, deferred or shed so far."""

    tenant: str
    code: str
    jobs: int


class Backpressure(Outgoing):
    """The bounds on submissions, and what they kept out."""

    depths: list[DepthRule]
    rates: list[RateRule]
    overload: OverloadDocument | None
    counts: list[AdmissionCount]


class BudgetDocument(Outgoing):
    """A tenant's first attempts and retries of its window, and how many retries it may have; `own` was set for it."""

    tenant: Name
    first_attempts: int
    retries: int
    allowed: float | None = Field(description="Null is no limit.")
    ratio: float | None
    floor: int
    window: float
    beyond: str
    own: bool
    used_up: bool
    version: int


class Budgets(Outgoing):
    """The tenants that had retries lately, and those with a budget of their own."""

    budgets: list[BudgetDocument]


def backpressure_document(found: Bounds) -> Backpressure:
    """The bounds as they are shown."""
    versions = found.versions
    return Backpressure(
        depths=[
            DepthRule(**_named(name), waiting=waiting, version=versions.get((DEPTH, name), 0))
            for name, waiting in found.depths.items()
        ],
        rates=[
            RateRule(**_named(name), rate=rate, burst=burst, version=versions.get((SUBMISSION, name), 0))
            for name, (rate, burst) in found.rates.items()
        ],
        overload=_overload(found.overload, versions),
        counts=[AdmissionCount(tenant=tenant, code=code, jobs=jobs) for (tenant, code), jobs in found.counts.items()],
    )


def budget_document(status: BudgetStatus) -> BudgetDocument:
    """A budget as it is shown."""
    return BudgetDocument(
        tenant=status.tenant,
        first_attempts=status.first_attempts,
        retries=status.retries,
        allowed=None if status.ratio is None else status.allowed,
        ratio=status.ratio,
        floor=status.floor,
        window=status.window,
        beyond=status.beyond,
        own=status.own,
        used_up=status.used_up,
        version=status.version,
    )


def _named(name: str) -> dict[str, Any]:
    scope, _, what = name.partition(":")
    return {"scope": scope, "name": what}


def _overload(policy: Overload | None, versions: Mapping[tuple[str, str], int]) -> OverloadDocument | None:
    if policy is None:
        return None
    return OverloadDocument(**policy.to_value(), version=versions.get((OVERLOAD, POLICY), 0))
