"""Job types: their schema and settings, how long their runs took, and what was done to them."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from fairlead.core.insight.wait_times import Spread
from fairlead.core.jobs.failure import FailureClass, Policies
from fairlead.core.jobs.retry import Retry, timeline
from fairlead.documents.base import Document

MOST_STEPS = 20
OR_BY_POOL = "Where the type declares nothing, as its pool is set now."
ALL_TENANTS = "Of all tenants; null for a key that is bound to one."


class SpreadDocument(Document):
    """Percentiles of counted durations, in seconds: at most 12.5 % above the truth, never below it."""

    count: int
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of percentiles, rounded to microseconds."""
        assert isinstance(record, Spread)
        parts = {name: round(getattr(record, name), 6) for name in ("p50", "p95", "p99")}
        return super().of(record, count=record.total, **parts, **fields)


class BarDocument(Document):
    """So many runs took from `begin` to less than `end` seconds."""

    begin: float
    end: float
    runs: int


class StepDocument(Document):
    """One attempt: seconds after which it starts, if each attempt before it failed at once."""

    attempt: int
    earliest: float
    expected: float
    latest: float


class RetryDocument(Document):
    """A retry policy as it is declared, and the first of its attempts."""

    policy: dict[str, Any]
    attempts: list[StepDocument]

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a policy."""
        assert isinstance(record, Retry)
        steps = [StepDocument.of(step) for step in timeline(record)[:MOST_STEPS]]
        return cls(policy=record.stored(), attempts=steps, **fields)


class TypeDocument(Document):
    """A registered job type: the newest version's schema and settings, and what its runs of the last day took."""

    name: str
    version: int
    pool: str = Field(description="The pool that the code declares.")
    place: str = Field(description="The pool that new jobs go to; measured run times may move it from `pool`.")
    payload_schema: dict[str, Any]
    settings: dict[str, Any] = Field(description="As the code declares them.")
    timeout: float | None = Field(description=f"Seconds after which a run is stopped. {OR_BY_POOL}")
    retries: dict[FailureClass, RetryDocument] = Field(description=f"By class of failure. {OR_BY_POOL}")
    runs: SpreadDocument | None = Field(description=f"Run times of the last day. {ALL_TENANTS}")
    histogram: list[BarDocument] | None = Field(description=f"The same in bars, from short to long. {ALL_TENANTS}")

    @classmethod
    def of(cls, record: Any, is_bound: bool = False, **fields: Any) -> Self:
        """The document of a type, without other tenants' figures for a caller that is bound to one."""
        job_type, terms = record.type, record.terms
        return cls(
            name=job_type.name,
            version=job_type.version,
            pool=job_type.pool,
            place=record.place,
            payload_schema=dict(job_type.schema),
            settings=dict(job_type.settings),
            timeout=terms.timeout,
            retries=retry_documents(terms.policies),
            runs=SpreadDocument.of(record.runs) if record.runs and not is_bound else None,
            histogram=None if is_bound else [BarDocument.of(bar) for bar in record.bars],
            **fields,
        )


class TypeList(Document):
    """All registered types."""

    types: list[TypeDocument]


class TypeEventDocument(Document):
    """Something that was done to a type: moved to another pool, paused, resumed, quarantined, released."""

    at: datetime
    by: str
    what: str
    old: str | None
    new: str | None
    why: str | None


class TypeDetail(TypeDocument):
    """A type, with what was done to it, newest first."""

    events: list[TypeEventDocument] | None = Field(description=ALL_TENANTS)

    @classmethod
    def of(cls, record: Any, is_bound: bool = False, **fields: Any) -> Self:
        """The document of a type with its events."""
        events = None if is_bound else [TypeEventDocument.of(event) for event in record.events]
        return super().of(record.look, is_bound, events=events, **fields)


def retry_documents(policies: Policies) -> dict[FailureClass, RetryDocument]:
    """The documents of all retry policies, by class of failure."""
    return {failure: RetryDocument.of(policies.of(failure)) for failure in FailureClass}
