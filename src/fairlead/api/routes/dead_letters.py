"""/v1/dead-letters: looking at dead jobs, mending them, bringing them back."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Actor, Caller, Reader
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import Cursor, JobId, Key, Limit, Moment, Name, ReasonQuery
from fairlead.api.models.dead_letters import (
    DeadAction,
    DeadChoice,
    DeadCount,
    DeadEdit,
    DeadGroups,
    DeadReplay,
    Purge,
    Purged,
    StagedReplay,
    StagedReport,
    group_document,
    refused_documents,
    staged_report,
)
from fairlead.api.models.jobs import JobDetail, JobDocument, JobPage, job_document
from fairlead.api.routes.jobs import detail, seconds_of
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import JobNotFound
from fairlead.operate import dead_letters as use_cases
from fairlead.operate.audit import Operator
from fairlead.operate.staged_replay import Pace, replay_in_stages
from fairlead.records.store import Store

router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], route_class=Endpoint)

Type = Annotated[Name | None, Query(alias="type")]
ABSENT = "it may have been removed after its retention time"
NameFilter = Annotated[Name | None, Query()]
TextFilter = Annotated[Key | None, Query()]


@router.get("", responses=answers())
async def list_dead(
    caller: Reader,
    type_name: Type = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    fingerprint: TextFilter = None,
    error_type: TextFilter = None,
    died_after: Moment = None,
    died_before: Moment = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobPage:
    """List dead jobs, newest first."""
    wanted = JobFilter(
        type=type_name, tenant=caller.tenant_for(tenant), pool=pool, fingerprint=fingerprint, error_type=error_type,
        finished_after=seconds_of(died_after), finished_before=seconds_of(died_before),
    )  # fmt: skip
    page = await use_cases.list_dead(caller.store, wanted, limit, cursor)
    return JobPage(jobs=[job_document(job) for job in page.jobs], cursor=page.cursor)


@router.get("/groups", responses=answers())
async def groups(
    caller: Reader,
    type_name: Type = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    fingerprint: TextFilter = None,
    limit: Limit = 50,
) -> DeadGroups:
    """Dead jobs by type and what they died of, the largest group first."""
    wanted = JobFilter(type=type_name, tenant=caller.tenant_for(tenant), pool=pool, fingerprint=fingerprint)
    found = await use_cases.groups(caller.store, wanted, limit)
    trends = await use_cases.trends(caller.store, wanted)
    return DeadGroups(groups=[group_document(group, trends.get((group.fingerprint, group.type))) for group in found])


@router.get("/count", responses=answers())
async def count_dead(
    caller: Reader,
    type_name: Type = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    fingerprint: TextFilter = None,
    error_type: TextFilter = None,
    died_before: Moment = None,
) -> DeadCount:
    """How many dead jobs fit: those that an action on all of them would touch."""
    wanted = JobFilter(
        type=type_name, tenant=caller.tenant_for(tenant), pool=pool, fingerprint=fingerprint, error_type=error_type,
        finished_before=seconds_of(died_before),
    )  # fmt: skip
    return DeadCount(count=await use_cases.count(caller.store, wanted))


@router.get("/{job_id}", responses=answers(404))
async def show_dead(job_id: JobId, caller: Reader) -> JobDetail:
    """A dead job with its runs and what operators did with it; it need not be dead any more."""
    await caller.job(job_id)
    return await detail(caller, await use_cases.show(caller.store, job_id))


@router.patch("/{job_id}", responses=answers(404, 409, 413))
async def edit(job_id: JobId, wanted: DeadEdit, caller: Actor) -> JobDocument:
    """Replace the payload of a dead job by one that fits its type; it stays dead."""
    await caller.job(job_id)
    limit = caller.service.settings.payload_limit
    await use_cases.edit(caller.store, job_id, wanted.payload, limit, caller.operator(wanted.reason))
    return job_document(await caller.job(job_id))


@router.delete("/{job_id}", status_code=204, responses=answers(404, 409))
async def purge_one(job_id: JobId, caller: Actor, reason: ReasonQuery = None) -> None:
    """Remove one dead job for good, with its payload and errors."""
    await caller.job(job_id)
    await use_cases.purge_one(caller.store, job_id, caller.operator(reason))


@router.post("/{job_id}/replay", responses=answers(404, 409, 413))
async def replay_one(job_id: JobId, wanted: DeadReplay, caller: Actor) -> JobDocument:
    """Bring one dead job back, with its payload or with another."""
    await caller.job(job_id)
    limit = caller.service.settings.payload_limit
    await use_cases.replay_one(caller.store, job_id, caller.operator(wanted.reason), wanted.payload, limit)
    return job_document(await caller.job(job_id))


@router.post("/replay", responses=answers())
async def replay_many(wanted: DeadChoice, caller: Actor) -> DeadAction:
    """Bring dead jobs back: those with these ids, or all that fit."""
    return await _on_chosen(wanted, caller, use_cases.replay_many, use_cases.replay_ids)


@router.post("/replay-in-stages", responses=answers())
async def replay_staged(wanted: StagedReplay, caller: Actor) -> StagedReport:
    """Bring dead jobs back a few first; it stops by itself where they fail again. Answers when it has ended."""
    report = await replay_in_stages(
        caller.store,
        wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant)),
        caller.operator(wanted.reason),
        Pace(wanted.patience, wanted.tolerance),
        wanted.limit,
    )
    return staged_report(report)


@router.post("/cancel", responses=answers())
async def cancel_many(wanted: DeadChoice, caller: Actor) -> DeadAction:
    """Give dead jobs up: those with these ids, or all that fit."""
    return await _on_chosen(wanted, caller, use_cases.cancel_many, use_cases.cancel_ids)


@router.post("/purge", responses=answers())
async def purge(wanted: Purge, caller: Actor) -> Purged:
    """Remove dead jobs for good: those with these ids, or all that fit and died so many seconds ago."""
    if wanted.filter is None or wanted.older_than is None:
        return await _purge_ids(wanted, caller)
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    if wanted.dry_run:
        return Purged(removed=0, would_remove=await use_cases.count_old(caller.store, chosen, wanted.older_than))
    removed = await use_cases.purge(caller.store, chosen, wanted.older_than, caller.operator(wanted.reason))
    return Purged(removed=removed)


async def _purge_ids(wanted: Purge, caller: Caller) -> Purged:
    own, foreign = await _own(caller, wanted.ids or [])
    if wanted.dry_run:
        found = _action(await use_cases.find_dead(caller.store, own), foreign)
        return Purged(removed=0, would_remove=len(found.done), refused=found.refused)
    done = _action(await use_cases.purge_ids(caller.store, own, caller.operator(wanted.reason)), foreign)
    return Purged(removed=len(done.done), refused=done.refused)


async def _on_chosen(
    wanted: DeadChoice,
    caller: Caller,
    on_all: Callable[[Store, JobFilter, Operator, int | None], Awaitable[use_cases.Outcome]],
    on_ids: Callable[[Store, Sequence[str], Operator], Awaitable[use_cases.Outcome]],
) -> DeadAction:
    """Do something with all that fit, or with those of the ids that are the caller's."""
    operator = caller.operator(wanted.reason)
    if wanted.filter is not None:
        chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
        return _action(await on_all(caller.store, chosen, operator, wanted.limit))
    own, foreign = await _own(caller, wanted.ids or [])
    return _action(await on_ids(caller.store, own, operator), foreign)


async def _own(caller: Caller, ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """The ids without those of another tenant's jobs, which are as absent as jobs that never were; and those."""
    if caller.tenant is None:
        return list(ids), []
    known = {job.id for job in await caller.store.reader.read_many(filter(is_id, ids)) if caller.owns(job)}
    return [job_id for job_id in ids if job_id in known], [job_id for job_id in ids if job_id not in known]


def _action(outcome: use_cases.Outcome, absent: Sequence[str] = ()) -> DeadAction:
    missing = {job_id: JobNotFound(f"there is no job {job_id}; {ABSENT}") for job_id in absent}
    return DeadAction(done=list(outcome.done), refused=refused_documents({**outcome.refused, **missing}))
