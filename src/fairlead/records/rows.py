"""Conversion between rows and the model, the same on every database; statements return columns in this order."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditEntry
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, JobType, Page
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, ErrorInfo, Held, Hold, Lane, Lease, Priority
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import FINAL, LIVE, State
from fairlead.core.jobs.workers import WorkerInfo, WorkerRecord, state_of
from fairlead.core.stored import known_member, readable

Row = Sequence[Any]

BY_AGE = itemgetter(6, 0)  # of a claim: ready_at, then id


def lane_of(row: Row) -> Lane:
    """From (id, pool, tenant, type, priority, version, limits)."""
    return Lane(row[1], row[2], row[3], Priority(row[4]), row[5], row[6])


def lane_row(lane: Lane) -> dict[str, Any]:
    """Return the parameters of insert_lanes."""
    return {
        "id": lane.id,
        "pool": lane.pool,
        "tenant": lane.tenant,
        "type": lane.type,
        "priority": int(lane.priority),
        "version": lane.version,
        "limits": lane.limits,
    }


def claims_of(found: Iterable[Row], lane_of: Callable[[int], Lane], lease: Lease) -> list[Claim]:
    """Return claims ordered by ready_at, from (id, lane, payload, attempt, crashes, fence, ready_at, age, time_left,
    key, options)."""
    ordered = sorted(found, key=BY_AGE)
    lanes = {lane_id: lane_of(lane_id) for lane_id in {row[1] for row in ordered}}
    return [
        Claim(job_id, lanes[lane_id], payload, attempt, crashes, fence, ready_at, age, time_left, key, options, lease)
        for job_id, lane_id, payload, attempt, crashes, fence, ready_at, age, time_left, key, options in ordered
    ]


def held_of(row: Row, lane: Lane) -> Held:
    """From (id, lane, attempt, crashes, age, state, fence, owner, lease, the columns of cancel_of, options)."""
    return Held(row[0], lane, row[2], row[3], row[4], hold_of(row), cancel_of(row[9:12]), row[12])


def hold_of(row: Row) -> Hold:
    """The hold of the same row."""
    return Hold(State(row[5]), row[6], row[7], row[8], row[11] is not None)


def cancel_of(row: Row) -> CancelRequest | None:
    """From (cancel_by, cancel_reason, cancel_grace), null without a cancel request."""
    by, reason, grace = row
    return None if grace is None else CancelRequest(by, reason, grace)


def job_of(row: Row) -> JobRecord:
    """From the columns of read_many and list_jobs."""
    (job_id, pool, tenant, type_, priority, version, state, payload, attempt, crashes, fence, created_at, run_at,
     not_after, started_at, finished_at, owner, result, error_type, message, key, options, parent, fingerprint,
     replays, failure, limits) = row[:27]  # fmt: skip
    created, due = instant(created_at), instant(run_at)
    assert created
    assert due
    return JobRecord(
        id=job_id,
        type=type_,
        tenant=tenant,
        pool=pool,
        priority=Priority(priority),
        version=version,
        state=State(state),
        payload=payload,
        attempt=attempt,
        crashes=crashes,
        fence=fence,
        created_at=created,
        run_at=due,
        not_after=instant(not_after),
        started_at=instant(started_at),
        finished_at=instant(finished_at),
        worker=owner,
        result=result,
        error=_error(error_type, message, None, fingerprint, failure),
        key=key,
        options=options,
        parent=parent,
        replays=replays,
        limits=limits,
        progress=progress_of(row[27:]),
    )


def progress_of(row: Row) -> Progress | None:
    """From (done, total, message, at), absent or null without a report."""
    at = instant(row[3]) if row else None
    return None if at is None else Progress(row[0], row[1], row[2], at)


def page_of(found: Sequence[Row], limit: int) -> Page:
    """Return a page from up to `limit` + 1 rows; the extra row shows that there is a next page."""
    jobs = tuple(job_of(row) for row in found[:limit])
    return Page(jobs, jobs[-1].id if len(found) > limit else None)


def listing(wanted: JobFilter) -> str:
    """Return the name of the statement that lists these jobs; dead letters have their own indexes."""
    return "list_dead" if wanted.states == (State.DEAD,) else "list_jobs"


def filter_row(wanted: JobFilter) -> dict[str, Any]:
    """Return the parameters of list_jobs, list_dead, dead_groups and purge_dead; null does not filter."""
    return {
        "states": json.dumps(wanted.states) if wanted.states else None,
        "live": not LIVE.isdisjoint(wanted.states or LIVE),
        "finished": not FINAL.isdisjoint(wanted.states or FINAL),
        "type": wanted.type,
        "tenant": wanted.tenant,
        "pool": wanted.pool,
        "priority": None if wanted.priority is None else int(wanted.priority),
        "key": wanted.key,
        "fingerprint": wanted.fingerprint,
        "error_type": wanted.error_type,
        "finished_after": wanted.finished_after,
        "finished_before": wanted.finished_before,
    }


def attempt_of(row: Row) -> AttemptRecord:
    """From (fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback, fingerprint,
    failure, due_at, ready_at)."""
    ended = instant(row[4])
    assert ended
    return AttemptRecord(
        fence=row[0],
        attempt=row[1],
        worker=row[2],
        started_at=instant(row[3]),
        ended_at=ended,
        ending=known_member(Ending, row[5], Ending.FAILED),
        error=_error(*row[6:11]),
        due_at=instant(row[11]),
        ready_at=instant(row[12]),
    )


def _error(
    kind: str | None, message: str | None, traceback: str | None, fingerprint: str | None, failure: str | None
) -> ErrorInfo | None:
    if kind is None:
        return None
    why = readable(lambda: FailureClass(failure), None) if failure else None
    return ErrorInfo(kind, message or "", traceback, why, fingerprint=fingerprint)


def group_of(row: Row) -> DeadGroup:
    """From (fingerprint, type, error_type, message, sample, count, tenants, first_at, last_at)."""
    first_at, last_at = instant(row[7]), instant(row[8])
    assert first_at
    assert last_at
    return DeadGroup(row[0], row[1], row[2], row[3], row[4], row[5], row[6], first_at, last_at)


def audit_row(entry: AuditEntry) -> dict[str, Any]:
    """Return the parameters of append_audit."""
    return asdict(entry)


def type_row(job_type: JobType) -> dict[str, Any]:
    """Return the parameters of register_types."""
    return {
        "name": job_type.name,
        "version": job_type.version,
        "pool": job_type.pool,
        "schema": json.dumps(job_type.schema, sort_keys=True),
        "settings": json.dumps(job_type.settings, sort_keys=True),
    }


def type_of(row: Row) -> JobType:
    """From (name, version, pool, schema, settings)."""
    return JobType(row[0], row[1], row[2], json.loads(row[3]), json.loads(row[4]))


def worker_row(info: WorkerInfo, lease: float) -> dict[str, Any]:
    """Return the parameters of register_worker."""
    return {
        "id": info.id,
        "host": info.host,
        "pid": info.pid,
        "pools": json.dumps(info.pools),
        "types": json.dumps(info.types),
        "slots": info.slots,
        "version": info.version,
        "lease": lease,
    }


def worker_of(row: Row) -> WorkerRecord:
    """From (id, host, pid, pools, types, slots, version, state, started_at, lease_left, report)."""
    started = instant(row[8])
    assert started
    info = WorkerInfo(
        row[0], row[1], row[2], tuple(json.loads(row[3])), tuple(json.loads(row[4])), row[5], row[6]
    )  # fmt: skip
    report = json.loads(row[10])
    return WorkerRecord(info, started, row[9], state_of(row[7], report), report)
