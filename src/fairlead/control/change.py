"""Changing jobs that wait, and trying again what has failed."""

import time
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from fairlead.control.audit import Operator
from fairlead.control.dead_letters import replay_one
from fairlead.control.submit import check_schema, dump_payload, registered_type
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.changes import WaitingChange, amend, hasten
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.model import JobRecord, JobType, Priority
from fairlead.core.jobs.states import State
from fairlead.errors import IllegalMove, JobNotFound
from fairlead.handlers.limits import registered_marks
from fairlead.handlers.options import seconds_at
from fairlead.ports.store import SCHEDULED_HINT, Store


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
        limits = registered_marks(job_type, payload, job.limits)
    due = seconds_at("run_at", run_at)
    change = amend(job, time.time(), priority, due, text, version, limits)
    note = operator.note("change", job_id, **_described(job, priority, run_at, text))
    return await _apply(store, job, change, note)


async def retry_job(store: Store, job_id: str, operator: Operator) -> JobRecord:
    """Let a job run now that is dead, waits for a retry or for its time; returns it as it is then."""
    job = await _read(store, job_id)
    if job.state is State.DEAD:
        await replay_one(store, job_id, operator)
        return await _read(store, job_id)
    return await _apply(store, job, hasten(job), operator.note("retry", job_id))


async def _apply(store: Store, job: JobRecord, change: WaitingChange, note: AuditNote) -> JobRecord:
    if not await store.amend_waiting([change], note):
        raise IllegalMove(f"job {job.id} was not changed: it is no longer as it was read; look at it again")
    await store.wake([job.pool if change.state is State.READY else SCHEDULED_HINT])
    return await _read(store, job.id)


async def _read(store: Store, job_id: str) -> JobRecord:
    record = await store.read(job_id) if is_id(job_id) else None
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
