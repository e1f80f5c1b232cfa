"""Changing many jobs that wait at once: running them now, giving them another priority."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from fairlead.control.audit import Operator
from fairlead.control.cancel import TARGET
from fairlead.control.dead_letters import filter_document
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.changes import WaitingChange, amend, hasten
from fairlead.core.jobs.model import JobFilter, JobRecord, Priority
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError
from fairlead.ports.store import Store

BATCH = 500
DELAYED = (State.SCHEDULED, State.RETRYING)
WAITING = (State.SCHEDULED, State.READY, State.RETRYING)

Decide = Callable[[JobRecord], WaitingChange]


async def hasten_many(store: Store, wanted: JobFilter, operator: Operator, most: int) -> int:
    """Let all jobs that fit and wait for their time or for a retry run now; returns how many."""
    chosen = _within(wanted, DELAYED)
    note = operator.note("retry", TARGET, filter=_described(chosen))
    return await _change(store, chosen, hasten, note, most)


async def set_priorities(store: Store, wanted: JobFilter, operator: Operator, most: int, priority: Priority) -> int:
    """Give all jobs that fit and still wait another priority; returns how many."""
    chosen = _within(wanted, WAITING)
    note = operator.note("change", TARGET, filter=_described(chosen), priority_after=priority.word)
    return await _change(store, chosen, lambda job: amend(job, time.time(), priority), note, most)


async def _change(store: Store, wanted: JobFilter, decide: Decide, note: AuditNote, most: int) -> int:
    """In batches with an audit entry each, newest first; what a worker took meanwhile stays as it is."""
    changed, left, cursor = 0, most, None
    while left > 0 and (held := await store.find_live(wanted, min(BATCH, left), cursor)):
        jobs = [job for job in await store.read_many([item.id for item in held]) if job.state in wanted.states]
        changed += await _apply(store, jobs, decide, note)
        left, cursor = left - len(held), held[-1].id
    return changed


async def _apply(store: Store, jobs: Sequence[JobRecord], decide: Decide, note: AuditNote) -> int:
    done = await store.amend_waiting([decide(job) for job in jobs], note) if jobs else set()
    await store.wake({job.pool for job in jobs if job.id in done})
    return len(done)


def _within(wanted: JobFilter, states: tuple[State, ...]) -> JobFilter:
    chosen = tuple(state for state in wanted.states or states if state in states)
    if not chosen:
        raise ConfigError(f"jobs that are {', '.join(wanted.states)} cannot be changed so, only {', '.join(states)}")
    return replace(wanted, states=chosen)


def _described(wanted: JobFilter) -> dict[str, object]:
    return {**filter_document(wanted), "states": sorted(wanted.states)}
