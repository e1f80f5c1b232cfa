"""Job types as their runs show them: where new jobs go, how long runs took, and what was done to the type.

Run times are those of the last day, of all tenants, in the buckets that workers count (core.runtimes). What was done is
in the audit, whoever did it: operators pause and quarantine types, the service that classifies moves them.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fairlead.core.durations import instant
from fairlead.core.fairness.run_times import Bar, histogram
from fairlead.core.insight.audit import AuditEntry
from fairlead.core.insight.wait_times import Spread, merged, spread
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.pools import Pools, TypeTerms
from fairlead.handlers.registered import placed, pools_of
from fairlead.operate.job_terms import new_terms
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
