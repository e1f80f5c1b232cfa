"""From rows to the model, alike for every store; the queries return their columns in the order read here."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, compress, pairwise, repeat
from operator import is_not, itemgetter
from typing import Any, NamedTuple

from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditEntry
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, JobType, Page
from fairlead.core.jobs.model import (
    CancelRequest,
    Claim,
    Ending,
    ErrorInfo,
    Held,
    Hold,
    Lane,
    Lease,
    Priority,
    Settlement,
)
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import RUNNING, SUCCEEDED, State
from fairlead.core.jobs.workers import WorkerInfo, WorkerRecord, state_of
from fairlead.core.stored import known_member, readable

Row = Sequence[Any]
Columns = tuple[Iterable[Any], ...]  # ids, lanes and instants can be gone through again

READY_AT = itemgetter(6)  # of a claim: since when its job is ready
BY_AGE = itemgetter(6, 0)  # and its id

_new = tuple.__new__
_NO_COLUMNS = ((),) * len(Settlement._fields)


def lane_of(row: Row) -> Lane:
    """From (id, pool, tenant, type, priority, version, limits)."""
    return Lane(row[1], row[2], row[3], Priority(row[4]), row[5], row[6])


def lane_row(lane: Lane) -> dict[str, Any]:
    """What insert_lanes takes."""
    return {
        "id": lane.id,
        "pool": lane.pool,
        "tenant": lane.tenant,
        "type": lane.type,
        "priority": int(lane.priority),
        "version": lane.version,
        "limits": lane.limits,
    }


def claims_of(found: list[Any], lane_of: Callable[[int], Lane], lease: Lease) -> list[Claim]:
    """The first ready first, from (id, lane, payload, attempt, crashes, fence, ready_at, age, time_left, key, options,
    and place)."""
    return claims_of_parts([tuple(zip(*found, strict=True))] if found else [], lane_of, lease)


def claims_of_parts(parts: Sequence[Columns], lane_of: Callable[[int], Lane], lease: Lease) -> list[Claim]:
    """The same from the columns of each part, which are not gone through claim by claim."""
    lanes = {lane_id: lane_of(lane_id) for columns in parts for lane_id in set(columns[1])}
    claims = list(chain.from_iterable(_claims(columns, lanes, lease) for columns in parts))
    if len(parts) > 1 or not claims or not _is_sorted(parts[0][0]):
        return sorted(claims, key=BY_AGE)
    return claims if _is_sorted(parts[0][6]) else sorted(claims, key=READY_AT)  # which keeps the order of ids


def _claims(columns: Columns, lanes: Mapping[int, Lane], lease: Lease) -> Iterable[Claim]:
    ids, lane_ids, *known, places = columns
    each = zip(ids, map(lanes.__getitem__, lane_ids), *known, repeat(lease), repeat(None), places)
    return map(_new, repeat(Claim), each)


def _is_sorted(values: Iterable[Any]) -> bool:
    return sorted(values) == list(values)


def held_of(row: Row, lane: Lane) -> Held:
    """From (id, lane, attempt, crashes, age, state, fence, owner, lease, what cancel_of takes, and options)."""
    request = cancel_of(row[9:12])
    hold = Hold(State(row[5]), row[6], row[7], row[8], request is not None)
    return Held(row[0], lane, row[2], row[3], row[4], hold, request, row[12])


def cancel_of(row: Row) -> CancelRequest | None:
    """From (cancel_by, cancel_reason, cancel_grace), which are null where nobody has asked."""
    by, reason, grace = row
    return None if grace is None else CancelRequest(by, reason, grace)


def settlement_row(settlement: Settlement) -> dict[str, Any]:
    """What settle_finish and settle_return take; enums as plain text, which becomes JSON ten times faster."""
    hold, error = settlement.hold, settlement.error
    return {
        "id": settlement.id,
        "held_state": hold.state.value,
        "held_fence": hold.fence,
        "held_owner": hold.owner,
        "held_lease": hold.lease,
        "held_cancelled": hold.cancelled,
        "state": settlement.state.value,
        "attempt": settlement.attempt,
        "crashes": settlement.crashes,
        "delay": settlement.delay,
        "result": settlement.result,
        "ending": settlement.ending.value,
        "error_type": error.type if error else None,
        "error_message": error.message if error else None,
        "fingerprint": error.fingerprint if error else None,
        "traceback": error.traceback if error else None,
        "failure": error.failure.value if error and error.failure else None,
        "recorded": settlement.recorded,
    }


class Successes(NamedTuple):
    """Jobs of one claim that succeeded, by columns; each job comes once."""

    lease: Lease
    ids: Sequence[str]
    fences: Sequence[int]
    results: Sequence[str | None]
    places: Sequence[int | None]

    @property
    def are_alike(self) -> bool:
        """Whether none has a result and all were claimed equally often."""
        return _all_are(None, self.results) and _all_are(self.fences[0], self.fences)


def split_succeeded(settlements: Sequence[Settlement]) -> tuple[list[Successes], list[Settlement]]:
    """Successes that nothing follows from, by their claims; and all others."""
    others: list[Settlement] = []
    ids, holds, states, _, _, _, _, results, errors, calls_back, places, _ = _columns(settlements)
    if not (_all_are(SUCCEEDED, states) and _all_are(None, errors) and _all_are(False, calls_back)):
        others = [item for item in settlements if not _is_plain_success(item)]
        settlements = [item for item in settlements if _is_plain_success(item)]
        ids, holds, _, _, _, _, _, results, _, _, places, _ = _columns(settlements)
    by_claim: dict[tuple[str, str], list[slice]] = {}
    changes = compress(range(1, len(ids)), map(is_not, holds, holds[1:]))  # a claim's jobs mostly share their hold
    for first, last in pairwise([0, *changes, len(ids)] if ids else ()):
        state, _, owner, lease, _ = holds[first]
        if state is not RUNNING or owner is None or lease is None:
            others += settlements[first:last]
        else:
            by_claim.setdefault((owner, lease), []).append(slice(first, last))
    columns = (ids, holds, results, places)
    return [_successes(Lease(*claim), columns, where) for claim, where in by_claim.items()], others


def _successes(lease: Lease, columns: tuple[Sequence[Any], ...], where: Sequence[slice]) -> Successes:
    """Of a job that comes twice, the first counts."""
    ids, holds, results, places = (
        column[where[0]] if len(where) == 1 else list(chain.from_iterable(column[part] for part in where))
        for column in columns
    )
    if len(set(ids)) < len(ids):
        first = {job_id: at for at, job_id in reversed(list(enumerate(ids)))}.values()
        ids, holds, results, places = ([column[at] for at in first] for column in (ids, holds, results, places))
    fences = [holds[0].fence] * len(ids) if _all_are(holds[0], holds) else [hold.fence for hold in holds]
    return Successes(lease, ids, fences, results, places)


def _columns(settlements: Sequence[Settlement]) -> tuple[Sequence[Any], ...]:
    return tuple(zip(*settlements, strict=True)) or _NO_COLUMNS


def _is_plain_success(item: Settlement) -> bool:
    return item.state is SUCCEEDED and item.error is None and not item.calls_back


def _all_are(value: Any, values: Sequence[Any]) -> bool:
    return values.count(value) == len(values)


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
    """From (done, total, message, at), which are absent or null where nothing was reported."""
    at = instant(row[3]) if row else None
    return None if at is None else Progress(row[0], row[1], row[2], at)


def page_of(found: Sequence[Row], limit: int) -> Page:
    """A page from up to one row more than it holds: that one tells whether there is more."""
    jobs = tuple(job_of(row) for row in found[:limit])
    return Page(jobs, jobs[-1].id if len(found) > limit else None)


def listing(wanted: JobFilter) -> str:
    """The statement that lists these jobs: dead letters alone have indexes of their own."""
    return "list_dead" if wanted.states == (State.DEAD,) else "list_jobs"


def filter_row(wanted: JobFilter) -> dict[str, Any]:
    """What list_jobs, list_dead, dead_groups and purge_dead take; null does not restrict."""
    return {
        "states": json.dumps(wanted.states) if wanted.states else None,
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
    """What append_audit takes."""
    return asdict(entry)


def type_row(job_type: JobType) -> dict[str, Any]:
    """What register_types takes."""
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
    """What register_worker takes."""
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
