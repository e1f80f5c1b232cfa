"""Changing waiting jobs, one or many: priority, start time and payload; retrying them now."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.changes import WaitingChange, change_waiting, make_ready
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobFilter, JobRecord, JobType
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.states import State
from fairlead.core.protection.limits import joined
from fairlead.errors import ConfigError, IllegalMove, JobNotFound
from fairlead.handlers.options import own_limits_of, seconds_at
from fairlead.handlers.registered import check_schema, dump_payload, registered_marks, registered_type
from fairlead.operate.cancel_jobs import TARGET
from fairlead.operate.dead_letters import filter_document, replay_one
from fairlead.ports.jobs import SCHEDULED_HINT
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator


async def change_job(
    store: Store,
    job_id: str,
    operator: Operator,
    limit: int,
    priority: Priority | None = None,
    run_at: datetime | None = None,
    payload: Mapping[str, Any] | None = None,
) -> JobRecord:
    """Change what is given of a job that still waits; returns it as it is then."""
    job = await _read(store, job_id)
    if priority is None and run_at is None and payload is None:
        return job
    text, version, limits = None, None, None
    if payload is not None:
        job_type = await registered_type(store, job.type)
        text, version = _checked(job_type, payload, limit), job_type.version
        limits = joined(registered_marks(job_type, payload, job.limits), own_limits_of(job.options))
    due = seconds_at("run_at", run_at)
    change = change_waiting(job, time.time(), priority, due, text, version, limits)
    note = operator.note("change", job_id, **_described(job, priority, run_at, text))
    return await _apply(store, job, change, note)


async def retry_job(store: Store, job_id: str, operator: Operator) -> JobRecord:
    """Let a job run now that is dead, waits for a retry or for its time; returns it as it is then."""
    job = await _read(store, job_id)
    if job.state is State.DEAD:
        await replay_one(store, job_id, operator)
        return await _read(store, job_id)
    return await run_job_now(store, job_id, operator)


async def run_job_now(store: Store, job_id: str, operator: Operator) -> JobRecord:
    """Let a job run now that waits for a retry or for its time; returns it as it is then."""
    job = await _read(store, job_id)
    if job.state is State.DEAD:
        raise IllegalMove(f"job {job_id} is dead; to run it again, replay it")
    return await _apply(store, job, make_ready(job), operator.note("run now", job_id))


async def _apply(store: Store, job: JobRecord, change: WaitingChange, note: AuditNote) -> JobRecord:
    if not await store.changes.amend_waiting([change], note):
        raise IllegalMove(f"job {job.id} was not changed: it is no longer as it was read; look at it again")
    await store.jobs.wake([job.pool if change.state is State.READY else SCHEDULED_HINT])
    return await _read(store, job.id)


async def _read(store: Store, job_id: str) -> JobRecord:
    record = await store.reader.read(job_id) if is_id(job_id) else None
    if record is None:
        raise JobNotFound(f"there is no job {job_id}; it may have been removed after its retention time")
    return record


def _checked(job_type: JobType, payload: Mapping[str, Any], limit: int) -> str:
    text = dump_payload(job_type.name, payload, limit)
    check_schema(job_type, payload)
    return text


def _described(job: JobRecord, priority: Priority | None, run_at: datetime | None, text: str | None) -> dict[str, Any]:
    """What the audit keeps of a change; of payloads only digests, since they may hold what must be removable."""
    described: dict[str, Any] = {}
    if priority is not None:
        described |= {"priority_before": job.priority.word, "priority_after": priority.word}
    if run_at is not None:
        described |= {"run_at_before": job.run_at.isoformat(), "run_at_after": run_at.isoformat()}
    if text is not None:
        described["payload_before"] = sha256(job.payload.encode()).hexdigest()
        described["payload_after"] = sha256(text.encode()).hexdigest()
    return described


BATCH = 500
DELAYED = (State.SCHEDULED, State.RETRYING)
WAITING = (State.SCHEDULED, State.READY, State.RETRYING)

Decide = Callable[[JobRecord], WaitingChange]


async def hasten_many(store: Store, wanted: JobFilter, operator: Operator, most: int) -> int:
    """Let all jobs that fit and wait for their time or for a retry run now; returns how many."""
    chosen = _within(wanted, DELAYED)
    note = operator.note("retry", TARGET, filter=_described_filter(chosen))
    return await _change(store, chosen, make_ready, note, most)


async def set_priorities(store: Store, wanted: JobFilter, operator: Operator, most: int, priority: Priority) -> int:
    """Give all jobs that fit and still wait another priority; returns how many."""
    chosen = _within(wanted, WAITING)
    note = operator.note("change", TARGET, filter=_described_filter(chosen), priority_after=priority.word)
    return await _change(store, chosen, lambda job: change_waiting(job, time.time(), priority), note, most)


async def _change(store: Store, wanted: JobFilter, decide: Decide, note: AuditNote, most: int) -> int:
    """In batches with an audit entry each, newest first; what a worker took meanwhile stays as it is."""
    changed, left, cursor = 0, most, None
    while left > 0 and (held := await store.reader.find_live(wanted, min(BATCH, left), cursor)):
        jobs = [job for job in await store.reader.read_many([item.id for item in held]) if job.state in wanted.states]
        changed += await _change_batch(store, jobs, decide, note)
        left, cursor = left - len(held), held[-1].id
    return changed


async def _change_batch(store: Store, jobs: Sequence[JobRecord], decide: Decide, note: AuditNote) -> int:
    done = await store.changes.amend_waiting([decide(job) for job in jobs], note) if jobs else set()
    await store.jobs.wake({job.pool for job in jobs if job.id in done})
    return len(done)


def _within(wanted: JobFilter, states: tuple[State, ...]) -> JobFilter:
    chosen = tuple(state for state in wanted.states or states if state in states)
    if not chosen:
        raise ConfigError(f"jobs that are {', '.join(wanted.states)} cannot be changed so, only {', '.join(states)}")
    return replace(wanted, states=chosen)


def _described_filter(wanted: JobFilter) -> dict[str, object]:
    return {**filter_document(wanted), "states": sorted(wanted.states)}
