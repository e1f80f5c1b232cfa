"""The system's status: alerts, jobs and slots by pool, wait times, samples of the last hour."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from fairlead.core.insight.diagnosis import Alert, Health, Level
from fairlead.documents.base import Document
from fairlead.documents.types import SpreadDocument


class AlertDocument(Document):
    """Something that somebody should know of, and what to do about it; the code stays the same."""

    level: Level
    code: str
    about: str | None = Field(description="The pool, type, breaker or pause; null where it is about the system.")
    sentence: str
    hint: str

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of an alert."""
        assert isinstance(record, Alert)
        return super().of(record, about=record.about or None, **fields)


class AlertList(Document):
    """The state of the system in one sentence, and all alerts, the worst first."""

    level: Level
    sentence: str
    alerts: list[AlertDocument]

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a verdict."""
        assert isinstance(record, Health)
        return super().of(record, alerts=[AlertDocument.of(alert) for alert in record.alerts], **fields)


class TopicDocument(Document):
    """Where to look further: `workers`, `guards`, `pauses`, `tenants`, `failures`, `retrying`, or a `pool` by name."""

    kind: str
    name: str | None


class HealthDocument(AlertList):
    """The verdict on the system with hints and where to look further."""

    hints: list[str]
    topics: list[TopicDocument]


class PoolStatsDocument(Document):
    """The jobs, workers and slots of one pool."""

    pool: str
    jobs: dict[str, int] = Field(description="Live jobs by state.")
    oldest_ready: float | None = Field(description="Seconds that the first ready job has waited.")
    workers: int
    slots: int
    running: int


class RefusedCount(Document):
    """How many jobs of a tenant were refused, deferred or shed so far."""

    tenant: str
    code: str
    jobs: int

    @classmethod
    def all_of(cls, counts: Mapping[tuple[str, str], int]) -> list[Self]:
        """The documents of counts by tenant and code."""
        return [cls(tenant=tenant, code=code, jobs=jobs) for (tenant, code), jobs in counts.items()]


class Samples(Document):
    """The figures of the system every few seconds, oldest first."""

    samples: list[dict[str, Any]]


class MinuteDocument(SpreadDocument):
    """The percentiles of one minute; `at` is its begin in seconds since 1970."""

    at: int


class WaitTimes(Document):
    """How long jobs waited from being ready until they were started."""

    seconds: float
    all: SpreadDocument | None = Field(description="Null where nothing was started.")
    pools: dict[str, SpreadDocument]
    minutes: list[MinuteDocument] = Field(description="Minutes in which something was started, oldest first.")

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of wait times."""
        return cls(
            seconds=record.seconds,
            all=record.all and SpreadDocument.of(record.all),
            pools={pool: SpreadDocument.of(found) for pool, found in record.pools.items()},
            minutes=[MinuteDocument.of(found, at=minute) for minute, found in record.minutes.items()],
            **fields,
        )


class StatusDocument(Document):
    """The status of the system: the verdict with its alerts, the pools, the newest sample, and recent waits."""

    health: HealthDocument
    pools: list[PoolStatsDocument]
    sample: dict[str, Any] | None
    waits: WaitTimes
    refused: list[RefusedCount] = Field(default=[], description="Submissions that backpressure kept out so far.")

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a status."""
        return cls(
            health=HealthDocument.of(record.health),
            pools=[PoolStatsDocument.of(pool) for pool in record.pools],
            sample=record.sample and dict(record.sample),
            waits=WaitTimes.of(record.waits),
            **fields,
        )
