"""Dead letters: looking at them, mending them, and bringing them back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from fairlead.core.insight.audit import AuditEntry, AuditNote
from fairlead.core.insight.timeline import Moment, timeline
from fairlead.core.jobs import dead_letters as replay
from fairlead.core.jobs.checkpoints import CheckpointRecord
from fairlead.core.jobs.dead_letters import DeadGroup, Refusal
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, JobType, Page
from fairlead.core.jobs.payload import check_payload
from fairlead.core.jobs.states import State
from fairlead.core.protection.limits import joined
from fairlead.errors import IllegalMove, JobError, JobNotFound, UnsafePayload
from fairlead.handlers.options import own_limits_of
from fairlead.handlers.registered import check_schema, registered_marks, registered_type
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

BATCH = 500
MOST_GROUPS = 10_000
HOUR, HOURS = 3600.0, 24
MOST_ENTRIES = 100
TARGET = "dead letters"

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Everything that is known about a job: the record, its failed runs, what operators did with it, checkpoints."""

    record: JobRecord
    attempts: tuple[AttemptRecord, ...]
    audit: tuple[AuditEntry, ...]
    checkpoints: tuple[CheckpointRecord, ...] = ()

    def timeline(self) -> list[Moment]:
        """All that happened to the job, in order."""
        return timeline(self.record, self.attempts, self.audit)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an action on many jobs: the ids it applied to, and why not to others."""

    done: tuple[str, ...]
    refused: Mapping[str, JobError]


Act = Callable[[Sequence[JobRecord]], Awaitable[Outcome]]


def no_progress(count: int) -> None:
    """Nobody watches."""


async def list_dead(store: Store, wanted: JobFilter, limit: int, cursor: str | None = None) -> Page:
    """Dead jobs, newest first."""
    return await store.reader.list_jobs(dead(wanted), limit, cursor)


async def groups(store: Store, wanted: JobFilter, limit: int) -> list[DeadGroup]:
    """Dead jobs by what they died of, the largest group first."""
    return await store.dead_letters.groups(dead(wanted), limit)


async def trends(store: Store, wanted: JobFilter) -> dict[tuple[str | None, str], list[int]]:
    """How many died in each of the last 24 hours, oldest first, by fingerprint and type."""
    return await store.dead_letters.trend(dead(wanted), HOUR, HOURS)


async def count(store: Store, wanted: JobFilter) -> int:
    """How many dead jobs fit."""
    return sum(group.count for group in await store.dead_letters.groups(dead(wanted), MOST_GROUPS))


async def show(store: Store, job_id: str) -> DeadLetter:
    """A job with all its context; it need not be dead any more."""
    record = await store.reader.read(job_id) if is_id(job_id) else None
    if record is None:
        raise _missing(job_id)
    attempts, entries = await store.reader.attempts(job_id), await store.audit.read(MOST_ENTRIES, job_id=job_id)
    checkpoints = await store.checkpoints.kept(job_id)
    return DeadLetter(record, tuple(attempts), tuple(reversed(entries)), tuple(checkpoints))


async def edit(store: Store, job_id: str, payload: Mapping[str, Any], limit: int, operator: Operator) -> None:
    """Replace the payload of a dead job by one that fits its type's schema; the job stays dead."""
    record = await _dead_one(store, job_id)
    text, job_type = await _checked(store, record, payload, limit)
    note = operator.note("edit", job_id, **_edited(record, text, job_type))
    if not await store.dead_letters.amend(
        [replay.edit_dead(record, text, job_type.version, _limits(record, job_type, payload))], note
    ):
        raise _refusal(job_id, "edited")


async def replay_one(
    store: Store, job_id: str, operator: Operator, payload: Mapping[str, Any] | None = None, limit: int = 0
) -> None:
    """Bring one dead job back, with an edited payload if one is given; an error says why that is not possible."""
    record = await _dead_one(store, job_id)
    note = operator.note("replay", job_id)
    if payload is None:
        revival = replay.revive(record)
    else:
        text, job_type = await _checked(store, record, payload, limit)
        revival = replay.revive(record, text, job_type.version, _limits(record, job_type, payload))
        note = note.about(**_edited(record, text, job_type))
    revived = await store.dead_letters.revive([revival], note)
    if revived.refused:
        raise _refusal(job_id, "replayed", revived.refused[job_id])
    await store.jobs.wake([record.pool])


async def replay_ids(store: Store, job_ids: Sequence[str], operator: Operator) -> Outcome:
    """Bring back those of the jobs that are dead."""
    records = await store.reader.read_many(filter(is_id, dict.fromkeys(job_ids)))
    return _with_missing(await revive_all(store, records, operator.note("replay", TARGET)), job_ids, records)


async def replay_many(
    store: Store, wanted: JobFilter, operator: Operator, most: int | None = None, progress: Progress = no_progress
) -> Outcome:
    """Bring back all dead jobs that fit, in batches; a job that dies again meanwhile is not brought back again."""
    note = operator.note("replay", TARGET, filter=filter_document(wanted))
    return await _batch_by_batch(store, wanted, most, progress, lambda records: revive_all(store, records, note))


async def cancel_ids(store: Store, job_ids: Sequence[str], operator: Operator) -> Outcome:
    """Cancel those of the jobs that are dead."""
    records = await store.reader.read_many(filter(is_id, dict.fromkeys(job_ids)))
    return _with_missing(await _cancel_all(store, records, operator.note("cancel", TARGET)), job_ids, records)


async def cancel_many(
    store: Store, wanted: JobFilter, operator: Operator, most: int | None = None, progress: Progress = no_progress
) -> Outcome:
    """Cancel all dead jobs that fit, in batches."""
    note = operator.note("cancel", TARGET, filter=filter_document(wanted))
    return await _batch_by_batch(store, wanted, most, progress, lambda records: _cancel_all(store, records, note))


async def purge(
    store: Store, wanted: JobFilter, older_than: float, operator: Operator, progress: Progress = no_progress
) -> int:
    """Remove dead jobs that fit and died so many seconds ago; returns how many."""
    note = operator.note("purge", TARGET, filter=filter_document(wanted), older_than=older_than)
    removed = 0
    while gone := await store.dead_letters.purge(dead(wanted), older_than, BATCH, note):
        removed += gone
        progress(gone)
    return removed


async def count_old(store: Store, wanted: JobFilter, older_than: float) -> int:
    """How many a purge would remove."""
    died_before = await store.now() - older_than
    if wanted.finished_before is not None:
        died_before = min(died_before, wanted.finished_before)
    return await count(store, replace(wanted, finished_before=died_before))


async def purge_ids(store: Store, job_ids: Sequence[str], operator: Operator) -> Outcome:
    """Remove those of the jobs that are dead."""
    records = await store.reader.read_many(filter(is_id, dict.fromkeys(job_ids)))
    return _with_missing(await _remove_all(store, records, operator.note("purge", TARGET)), job_ids, records)


async def find_dead(store: Store, job_ids: Sequence[str]) -> Outcome:
    """Which of the jobs a purge would remove, and why not the others."""
    records = await store.reader.read_many(filter(is_id, dict.fromkeys(job_ids)))
    holds, refused = _decide(records, replay.hold_of)
    return _with_missing(Outcome(tuple(hold.id for hold in holds), refused), job_ids, records)


async def purge_one(store: Store, job_id: str, operator: Operator) -> None:
    """Remove one dead job for good; an error says why that is not possible."""
    for error in (await purge_ids(store, [job_id], operator)).refused.values():
        raise error


async def batches(store: Store, wanted: JobFilter, most: int | None = None) -> AsyncIterator[Sequence[JobRecord]]:
    """The dead jobs that fit, newest first; the cursor only goes on, so that none comes twice."""
    left, cursor = most, None
    while left is None or left > 0:
        page = await list_dead(store, wanted, BATCH if left is None else min(BATCH, left), cursor)
        if page.jobs:
            yield page.jobs
        if page.cursor is None:
            return
        left, cursor = None if left is None else left - len(page.jobs), page.cursor


async def revive_all(store: Store, records: Sequence[JobRecord], note: AuditNote) -> Outcome:
    """Bring back those of the jobs that are dead, in one transaction, and wake the workers of their pools."""
    revivals, refused = _decide(records, replay.revive)
    revived = await store.dead_letters.revive(revivals, note) if revivals else replay.Revived(frozenset(), {})
    await store.jobs.wake({record.pool for record in records if record.id in revived.ids})
    refused |= {job_id: _refusal(job_id, "replayed", why) for job_id, why in revived.refused.items()}
    return Outcome(tuple(record.id for record in records if record.id in revived.ids), refused)


def dead(wanted: JobFilter) -> JobFilter:
    """The filter, for dead jobs only."""
    return replace(wanted, states=(State.DEAD,))


def filter_document(wanted: JobFilter) -> dict[str, Any]:
    """What a filter asks for, as the audit keeps it."""
    return {name: value for name, value in asdict(wanted).items() if value not in (None, ()) and name != "states"}


async def _batch_by_batch(store: Store, wanted: JobFilter, most: int | None, progress: Progress, act: Act) -> Outcome:
    done: list[str] = []
    refused: dict[str, JobError] = {}
    async for records in batches(store, wanted, most):
        outcome = await act(records)
        done += outcome.done
        refused |= outcome.refused
        progress(len(records))
    return Outcome(tuple(done), refused)


async def _cancel_all(store: Store, records: Sequence[JobRecord], note: AuditNote) -> Outcome:
    holds, refused = _decide(records, replay.cancel_dead)
    cancelled = await store.dead_letters.cancel(holds, note) if holds else set()
    refused |= {hold.id: _refusal(hold.id, "cancelled") for hold in holds if hold.id not in cancelled}
    return Outcome(tuple(record.id for record in records if record.id in cancelled), refused)


async def _remove_all(store: Store, records: Sequence[JobRecord], note: AuditNote) -> Outcome:
    holds, refused = _decide(records, replay.hold_of)
    removed = await store.dead_letters.remove(holds, note) if holds else set()
    refused |= {hold.id: _refusal(hold.id, "removed") for hold in holds if hold.id not in removed}
    return Outcome(tuple(record.id for record in records if record.id in removed), refused)


def _decide(records: Sequence[JobRecord], decide: Callable[[JobRecord], Any]) -> tuple[list[Any], dict[str, JobError]]:
    """What core decides about the dead ones, and what is said to the others."""
    refused: dict[str, JobError] = {
        record.id: _not_dead(record) for record in records if record.state is not State.DEAD
    }
    return [decide(record) for record in records if record.id not in refused], refused


async def _dead_one(store: Store, job_id: str) -> JobRecord:
    record = await store.reader.read(job_id) if is_id(job_id) else None
    if record is None:
        raise _missing(job_id)
    if record.state is not State.DEAD:
        raise _not_dead(record)
    return record


async def _checked(store: Store, record: JobRecord, payload: Mapping[str, Any], limit: int) -> tuple[str, JobType]:
    """The payload as text, and the registered type that it fits."""
    job_type = await registered_type(store, record.type)
    try:
        given = to_json(payload, inf_nan_mode="constants")
    except ValueError as error:
        raise UnsafePayload(f"the payload cannot become JSON: {error}") from None
    text = check_payload(given, limit)
    check_schema(job_type, payload)
    return text, job_type


def _edited(record: JobRecord, text: str, job_type: JobType) -> dict[str, Any]:
    """What the audit keeps of an edit: digests, since payloads may hold what must be removable."""
    return {
        "payload_before": sha256(record.payload.encode()).hexdigest(),
        "payload_after": sha256(text.encode()).hexdigest(),
        "version_before": record.version,
        "version_after": job_type.version,
    }


def _not_dead(record: JobRecord) -> IllegalMove:
    return IllegalMove(
        f"job {record.id} is {record.state}; only a dead job can be edited, replayed, cancelled or purged here"
    )


def _missing(job_id: str) -> JobNotFound:
    return JobNotFound(f"there is no job {job_id}; it may have been removed after its retention time")


def _refusal(job_id: str, what: str, why: Refusal = Refusal.CHANGED) -> IllegalMove:
    return IllegalMove(f"job {job_id} was not {what}: {why.words}")


def _with_missing(outcome: Outcome, job_ids: Sequence[str], records: Sequence[JobRecord]) -> Outcome:
    known = {record.id for record in records}
    missing = {job_id: _missing(job_id) for job_id in job_ids if job_id not in known}
    return Outcome(outcome.done, {**outcome.refused, **missing})


def _limits(record: JobRecord, job_type: JobType, payload: Mapping[str, Any]) -> str:
    """The marks of the edited payload; where only the handler's code could tell its key, the job keeps its own."""
    return joined(registered_marks(job_type, payload, record.limits), own_limits_of(record.options))
