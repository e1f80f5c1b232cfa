"""Cancelling: jobs that wait at once, running ones through their worker, one or many.

A job may be claimed, retried or settled while it is being cancelled. Each decision names what it saw, so those that
were overtaken are looked at again, until the job is cancelled, its worker is asked, or it has ended.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random

from fairlead.core.durations import Duration
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.cancel import GRACE, Cancelled, cancel_error, cancel_write, make_request, not_cancellable
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import CancelRequest, Ending, Held, Outcome
from fairlead.core.jobs.settle import settle
from fairlead.core.jobs.states import LIVE, PENDING, State
from fairlead.errors import ConfigError, JobError, JobNotFound, StoreError, StoreUnavailable
from fairlead.operate.dead_letters import filter_document
from fairlead.ports.jobs import WORKER_HINT
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

BATCH = 500
ROUNDS = 20
PAUSE = 0.02
ANY = Policies()
TARGET = "jobs"

Progress = Callable[[int], None]


@dataclass(slots=True)
class Report:
    """What a cancellation did: the jobs that are cancelled, those whose worker was asked, and why not others."""

    cancelled: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refused: dict[str, JobError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CancelCounts:
    """How many jobs a filter cancelled, and of how many the worker was asked."""

    cancelled: int
    asked: int


async def cancel_one(store: Store, job_id: str, operator: Operator, grace: Duration = GRACE) -> State:
    """Cancel a job; `running` says that its worker was asked to. An error says why that is not possible."""
    report = await cancel_ids(store, [job_id], operator, grace)
    if report.refused:
        raise report.refused[job_id]
    return State.CANCELLED if report.cancelled else State.RUNNING


async def cancel_ids(store: Store, job_ids: Sequence[str], operator: Operator, grace: Duration = GRACE) -> Report:
    """Cancel these jobs, as far as possible."""
    request, report = make_request(operator.actor, operator.reason, grace), Report()
    wanted = [job_id for job_id in dict.fromkeys(job_ids) if is_id(job_id)]
    for start in range(0, len(wanted), BATCH):
        portion = wanted[start : start + BATCH]
        note = operator.note("cancel", portion[0] if len(wanted) == 1 else TARGET)
        done = await _cancel_batch(store, await store.reader.held(portion), request, note)
        report.cancelled += [job_id for job_id in portion if job_id in done.done]
        report.asked += [job_id for job_id in portion if job_id in done.asked]
    touched = {*report.cancelled, *report.asked}
    report.refused = await _refusals(store, [job_id for job_id in dict.fromkeys(job_ids) if job_id not in touched])
    return report


async def count(store: Store, wanted: JobFilter) -> dict[State, int]:
    """How many jobs fit that could be cancelled, by state."""
    return await store.reader.count_live(live(wanted))


async def cancel_many(
    store: Store,
    wanted: JobFilter,
    operator: Operator,
    grace: Duration = GRACE,
    most: int | None = None,
    progress: Progress = lambda count: None,
) -> CancelCounts:
    """Cancel all jobs that fit, the newest first, in batches with an audit entry each."""
    request = make_request(operator.actor, operator.reason, grace)
    chosen, cancelled, asked = live(wanted), 0, 0
    states = frozenset(chosen.states) or LIVE
    note = operator.note("cancel", TARGET, filter={**filter_document(wanted), "states": sorted(states)})
    async for jobs in _batches(store, chosen, most):
        done = await _cancel_batch(store, jobs, request, note, states)
        cancelled, asked = cancelled + len(done.done), asked + len(done.asked)
        progress(len(jobs))
    return CancelCounts(cancelled, asked)


def live(wanted: JobFilter) -> JobFilter:
    """The filter for jobs that can be cancelled; ConfigError where it asks for finished ones only."""
    states = tuple(state for state in wanted.states if state in LIVE)
    if wanted.states and not states:
        named = ", ".join(wanted.states)
        raise ConfigError(
            f"jobs that are {named} have ended; only live ones can be cancelled, dead ones with --state dead"
        )
    return replace(wanted, states=states)


async def _batches(store: Store, wanted: JobFilter, most: int | None) -> AsyncIterator[list[Held]]:
    """The jobs that fit; the cursor only goes on, so that jobs submitted meanwhile do not prolong it."""
    left, cursor = most, None
    while left is None or left > 0:
        jobs = await store.reader.find_live(wanted, BATCH if left is None else min(BATCH, left), cursor)
        if not jobs:
            return
        yield jobs
        left, cursor = None if left is None else left - len(jobs), jobs[-1].id


async def _cancel_batch(
    store: Store, jobs: Sequence[Held], request: CancelRequest, note: AuditNote, states: frozenset[State] = LIVE
) -> Cancelled:
    """Cancel these jobs, looking again at those that were overtaken, as long as they are in one of the states."""
    done: set[str] = set()
    asked: set[str] = set()
    for turn in range(ROUNDS):
        answer = await _try(store, jobs, request, note)
        done |= answer.done
        asked |= answer.asked
        rest = [job.id for job in jobs if job.id not in done and job.id not in asked]
        jobs = [job for job in await store.reader.held(rest) if job.hold.state in states] if rest else []
        if not jobs:
            return Cancelled(frozenset(done), frozenset(asked))
        await asyncio.sleep(PAUSE * turn)
    raise StoreUnavailable(f"{len(jobs)} jobs changed {ROUNDS} times while they were being cancelled; try again")


async def _try(store: Store, jobs: Sequence[Held], request: CancelRequest, note: AuditNote) -> Cancelled:
    """Settle what waits and ask what runs; a run that was asked before, and as urgently, needs nothing."""
    outcome = Outcome(Ending.CANCELLED, error=cancel_error(request))
    waiting = [settle(job, outcome, ANY, Random()) for job in jobs if job.hold.state in PENDING]
    running = [job for job in jobs if job.hold.state is State.RUNNING]
    demands = [wish for job in running if (wish := cancel_write(job, request))]
    known = {job.id for job in running} - {wish.id for wish in demands}
    if not waiting and not demands:
        return Cancelled(frozenset(), frozenset(known))
    answer = await store.changes.cancel(waiting, demands, note)
    with suppress(StoreError):  # a hint that fails is only a slower stop
        await store.jobs.wake({f"{WORKER_HINT}{wish.hold.owner}" for wish in demands if wish.id in answer.asked})
    return answer._replace(asked=answer.asked | known)


async def _refusals(store: Store, job_ids: Sequence[str]) -> dict[str, JobError]:
    """Why these jobs were not cancelled."""
    found = {record.id: record for record in await store.reader.read_many(filter(is_id, job_ids))} if job_ids else {}
    return {job_id: not_cancellable(found[job_id]) if job_id in found else _missing(job_id) for job_id in job_ids}


def _missing(job_id: str) -> JobNotFound:
    return JobNotFound(f"there is no job {job_id}; it may have been removed after its retention time")
