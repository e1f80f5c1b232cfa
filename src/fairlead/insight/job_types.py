"""Job types as their runs show them: where new jobs go, how long runs took, and what was done to the type.

Run times are those of the last day, of all tenants, in the buckets of core.fairness.run_times. The history comes from
the audit: operators pause and quarantine types, and a service moves them between pools.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fairlead.core.durations import instant
from fairlead.core.fairness.run_times import Bar, histogram
from fairlead.core.insight.audit import AuditEntry
from fairlead.core.insight.wait_times import Spread, WaitCount, by_minute, by_pool, merged, spread, spread_of
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.job_records import JobRecord, JobType
from fairlead.core.jobs.pools import Pool, Pools, TypeTerms, terms_in
from fairlead.handlers.options import overridden
from fairlead.handlers.registered import placed, policies_of, pools_of
from fairlead.records.store import Store

MEASURED = 24 * 3600.0
MOST_EVENTS = 20


@dataclass(frozen=True, slots=True)
class TypeLook:
    """A type, the pool that its new jobs go to and on which terms, and how long its runs of the last day took."""

    type: JobType
    place: str
    terms: TypeTerms
    runs: Spread | None
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class TypeEvent:
    """Something that was done to a type; a move has the pools and the reason in figures."""

    at: datetime
    by: str
    what: str
    old: str | None
    new: str | None
    why: str | None


@dataclass(frozen=True, slots=True)
class TypeView:
    """A type with what was done to it, newest first."""

    look: TypeLook
    events: Sequence[TypeEvent]


async def type_looks(store: Store, types: Iterable[JobType]) -> list[TypeLook]:
    """All these types."""
    counts: dict[str, list[tuple[int, int]]] = {}
    for count in await store.shares.run_times(MEASURED):
        counts.setdefault(count.type, []).append((count.bucket, count.runs))
    pools = await pools_of(store)
    return [_look(item, pools, counts.get(item.name, ())) for item in types]


async def type_view(store: Store, job_type: JobType) -> TypeView:
    """One type."""
    counts = [(count.bucket, count.runs) for count in await store.shares.run_times(MEASURED, job_type.name)]
    look = _look(job_type, await pools_of(store), counts)
    entries = await store.audit.about(f"type {job_type.name}", MOST_EVENTS)
    return TypeView(look, [event_of(entry) for entry in entries])


def _look(job_type: JobType, pools: Pools, counts: Iterable[tuple[int, int]]) -> TypeLook:
    runs = merged(counts)
    return TypeLook(job_type, placed(job_type, pools), new_terms(job_type, pools), spread(runs), histogram(runs))


def event_of(entry: AuditEntry) -> TypeEvent:
    """What an entry of the audit says about a type."""
    details = json.loads(entry.details)
    at = instant(entry.at)
    assert at
    why = details.get("why") or details.get("reason")
    return TypeEvent(at, entry.actor, entry.action, details.get("old"), details.get("new"), why)


LATELY = 300.0
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class WaitView:
    """The waits of all pools together and of each, within so many seconds, and of each minute of them."""

    seconds: float
    all: Spread | None
    pools: dict[str, Spread]
    minutes: dict[int, Spread]


async def waits(store: Store, window: float = LATELY) -> WaitView:
    """The waits of the last seconds."""
    return _view(await store.shares.wait_counts(window), window)


def _view(counts: Sequence[WaitCount], window: float) -> WaitView:
    return WaitView(window, spread_of(counts), by_pool(counts), by_minute(counts))


class JobTerms(NamedTuple):
    """What the job, its type or its pool says, in this order; None where nothing is known, or there is no timeout."""

    attempts: int | None
    timeout: float | None


async def job_terms(store: Store, job: JobRecord) -> JobTerms:
    """The terms of a job, by what is registered and set now."""
    types = {job_type.name: job_type for job_type in await store.types.all()}
    return terms_of(job, types.get(job.type), await pools_of(store))


def terms_of(job: JobRecord, job_type: JobType | None, pools: Pools) -> JobTerms:
    """The terms of a job of a type, by the pools as they are set now."""
    pool = pools.get(job.pool)
    if job_type is None:
        return JobTerms(None, overridden(job.options, pool.timeout, Policies())[0])
    timeout, policies = overridden(job.options, *type_terms(job_type, pool))
    return JobTerms(policies.application.attempts, timeout)


def new_terms(job_type: JobType, pools: Pools) -> TypeTerms:
    """On which terms new jobs of a registered type run, in the pool that they go to."""
    return type_terms(job_type, pools.get(placed(job_type, pools)))


def type_terms(job_type: JobType, pool: Pool) -> TypeTerms:
    """On which terms the jobs of a registered type run in a pool."""
    settings = job_type.settings
    return terms_in(pool, settings.get("timeout"), policies_of(job_type), bool(settings.get("usual_retry")))
