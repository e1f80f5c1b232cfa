"""Settings that operators change at run time: one body and one document for each kind.

A body has `reason`, for the audit. A document has `version`, which counts the changes of the setting and is its ETag; 0
is a setting that nobody has set.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from fairlead.core.fairness.tenancy import LEAST_WEIGHT, MOST_GUARANTEED, MOST_WEIGHT, TIERS
from fairlead.core.jobs.pools import LONGEST_LEASE, MOST_CONCURRENCY, SHORTEST_LEASE, Pool
from fairlead.core.jobs.retry import MAX_ATTEMPTS
from fairlead.core.protection.backpressure import MOST_WAITING, Action
from fairlead.core.protection.limits import MOST_CONCURRENT
from fairlead.core.protection.retry_budget import Beyond
from fairlead.core.protection.token_bucket import MOST
from fairlead.documents.base import NUMBER_ONLY, Body, Document, PriorityWord, Reason, Seconds, Text

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


class SettingBody(Body):
    """A setting from now on, and why."""

    reason: Text | None = None

    def value(self) -> dict[str, Any]:
        """The fields that were given, without the reason."""
        return self.model_dump(exclude_unset=True, exclude={"reason"})


class LimitSetting(SettingBody):
    """How many may run at once, how many may start in a time, or `unlimited` to lift what a handler declares."""

    concurrent: Runs | None = None
    rate: Rate | None = None
    burst: Burst | None = None
    unlimited: Yes = False


class DepthSetting(SettingBody):
    """How many jobs may wait."""

    waiting: Waiting


class RateSetting(SettingBody):
    """How fast jobs may be submitted."""

    rate: Rate
    burst: Burst | None = None


class OverloadSetting(SettingBody):
    """From `waiting` ready jobs on, jobs of a lower priority than `below` are rejected, put off by `delay` or shed."""

    waiting: Waiting
    action: Action = Action.REJECT
    below: PriorityWord = "default"
    delay: Seconds = 60.0


class BudgetSetting(SettingBody):
    """`ratio` retries for each first attempt within `window` seconds, and `floor` more; null is no limit.

    A retry beyond that goes to the dead letters, or is delayed.
    """

    ratio: Annotated[float, Field(strict=True, ge=0, le=1e9)] | None
    floor: Annotated[int, Field(ge=1, le=10**9), NUMBER_ONLY] = 100
    window: Annotated[float, Field(strict=True, ge=1, le=86_400)] = 60.0
    beyond: Beyond = "dead"


class BreakerSetting(SettingBody):
    """An open breaker: nothing that goes through it starts until the setting is removed, which closes it."""

    phase: Literal["open"]
    reason: Reason


class QuarantineSetting(SettingBody):
    """How many attempts a type's jobs have until it is released; with 0 none of them starts."""

    attempts: Annotated[int, Field(ge=0, le=100), NUMBER_ONLY] = 0
    reason: Reason


class PauseSetting(SettingBody):
    """A pause: nothing of the type, tenant or pool starts; what runs goes on."""

    reason: Reason


class PoolSetting(SettingBody):
    """Settings of a pool; null is no limit, and an estimate of null is the pool's default."""

    longest: Span | None = None
    concurrency: Slots | None = None
    estimate: Span | None = None
    wait: Span | None = None
    depth: Waiting | None = None
    attempts: Attempts | None = None
    timeout: Span | None = None
    lease: LeaseSpan | None = None

    def value(self) -> dict[str, Any]:
        """The fields that were given; an estimate of null is none."""
        return {name: given for name, given in super().value().items() if name != "estimate" or given is not None}


class TenantSetting(SettingBody):
    """The standing of a tenant; without a weight or minimum of its own it has its tier's."""

    tier: TierName
    weight: Weight | None = None
    minimum: Minimum | None = None


class LimitDocument(Document):
    """A limit and its use now."""

    name: str = Field(description="`type:report`, `tenant:acme`, `tenant+pool:acme+short`, `limit:stripe=7` ...")
    concurrent: int | None
    rate: float | None
    burst: float | None
    set_by: str = Field(description="`operator` or `handler`.")
    running: int
    tokens: float | None = Field(description="What is left of its rate.")
    each: bool = Field(description="It is a limit for each of a kind by itself.")
    version: int

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a limit in force."""
        return super().of(record, name=f"{record.scope}:{record.name}", **fields)


class HolderDocument(Document):
    """A job that runs under a limit."""

    id: str
    tenant: str
    since: datetime
    worker: str | None


class LimitDetail(LimitDocument):
    """A limit, and the jobs that run under it, those that run longest first."""

    holders: list[HolderDocument]


class DepthDocument(Document):
    """How many jobs of a tenant (`tenant:acme`), of each of a tier's tenants (`tier:free`) or of each may wait."""

    name: str
    waiting: int
    version: int


class RateDocument(Document):
    """How fast a tenant (`tenant:acme`), each of a tier's tenants (`tier:free`) or each tenant may submit."""

    name: str
    rate: float
    burst: float
    version: int


class OverloadDocument(Document):
    """The treatment of low priorities while too many jobs are ready."""

    name: str
    waiting: int
    action: Action
    below: PriorityWord
    delay: float
    version: int


class BudgetDocument(Document):
    """A tenant's first attempts and retries of its window, and how many retries it may have."""

    name: str = Field(description="The tenant.")
    first_attempts: int
    retries: int
    allowed: float | None = Field(description="Null is no limit.")
    ratio: float | None
    floor: int
    window: float
    beyond: Beyond
    own: bool = Field(description="It was set for this tenant.")
    used_up: bool
    version: int

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a budget's status."""
        allowed = None if record.ratio is None else record.allowed
        return super().of(record, name=record.tenant, allowed=allowed, **fields)


class BreakerDocument(Document):
    """A breaker: its phase and why. `good` and `bad` are runs of its window, or of its phase while not closed."""

    name: str = Field(description="`type:report` or `dependency:stripe`.")
    phase: str
    good: int
    bad: int
    why: str | None
    since: datetime | None
    until: datetime | None
    openings: int
    by: str | None
    types: list[str]
    version: int

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a breaker's status."""
        return super().of(record, types=list(record.types), **fields)


class QuarantineDocument(Document):
    """A type in quarantine: its jobs have so many attempts, with 0 none starts."""

    name: str = Field(description="The type.")
    why: str
    by: str | None = Field(description="Null where it came to that by itself.")
    since: datetime | None
    attempts: int
    version: int

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a quarantine."""
        return super().of(record, name=record.type, **fields)


class PauseDocument(Document):
    """A type, tenant or pool of which nothing starts."""

    name: str = Field(description="`type:report`, `tenant:acme` or `pool:short`.")
    why: str
    since: datetime
    version: int

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a pause."""
        return super().of(record, name=f"{record.scope}:{record.name}", why=record.reason, **fields)


class PoolDocument(Document):
    """A pool's settings: how long its jobs should run and wait, and the slots of a worker they may take.

    `attempts` and `timeout` are for types that declare none. A worker has the shortest `lease` of the pools it serves;
    null is the setting of that name.
    """

    name: str
    longest: float | None
    concurrency: int | None
    wait: float | None
    depth: int | None = Field(description="How many of its jobs should be ready; more for five minutes is an alert.")
    estimate: float = Field(description="Seconds that a job of a type is charged at first that never ran.")
    attempts: int | None
    timeout: float | None
    lease: float | None
    beside_others_only: bool = Field(description="`concurrency` is for workers that serve other pools too.")
    version: int

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a pool with its `version`."""
        assert isinstance(record, Pool)
        return super().of(record, beside_others_only=record.shared_only, **fields)
