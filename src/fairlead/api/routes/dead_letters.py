"""/v1/dead-letters: groups of dead jobs, and actions on many of them. A single one is a job: see /v1/jobs."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from fairlead.api.caller import Actor, Caller, Reader
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint, StreamEndpoint
from fairlead.api.parameters import KeyFilter, Limit, Moment, NameFilter, seconds_of
from fairlead.api.problems import problem_of
from fairlead.api.responses import answers
from fairlead.api.streams import DESCRIBED, event, stream
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobFilter
from fairlead.documents.dead_letters import (
    DeadAction,
    DeadChoice,
    DeadCount,
    DeadGroupDocument,
    DeadGroups,
    Purge,
    Purged,
    RefusedDocument,
    StagedReplay,
    StagedReport,
)
from fairlead.errors import FairleadError, JobNotFound
from fairlead.operate import dead_letters as use_cases
from fairlead.operate.staged_replay import Pace, replay_in_stages
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

router = APIRouter(prefix="/v1/dead-letters", tags=[OPERATORS], route_class=Endpoint)
streams = APIRouter(prefix="/v1/dead-letters", tags=[OPERATORS], route_class=StreamEndpoint)

ABSENT = "it may have been removed after its retention time"
EVENTS = "Events `begun`, `progress`, `stage`, and at the end `report` or `problem`."


@router.get("/groups", operation_id="list_dead_letter_groups", responses=answers())
async def list_groups(
    caller: Reader,
    type: NameFilter = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    fingerprint: KeyFilter = None,
    limit: Limit = 50,
) -> DeadGroups:
    """Dead jobs by type and what they died of, the largest group first; `GET /v1/jobs?states=dead` lists the jobs."""
    wanted = JobFilter(type=type, tenant=caller.tenant_for(tenant), pool=pool, fingerprint=fingerprint)
    found = await use_cases.groups(caller.store, wanted, limit)
    trends = await use_cases.trends(caller.store, wanted)
    return DeadGroups(
        groups=[DeadGroupDocument.of(group, trends.get((group.fingerprint, group.type))) for group in found]
    )


@router.get("/count", operation_id="count_dead_letters", responses=answers())
async def count_dead(
    caller: Reader,
    type: NameFilter = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    fingerprint: KeyFilter = None,
    error_type: KeyFilter = None,
    finished_before: Moment = None,
) -> DeadCount:
    """How many dead jobs fit: those that an action on all of them would touch."""
    wanted = JobFilter(
        type=type, tenant=caller.tenant_for(tenant), pool=pool, fingerprint=fingerprint, error_type=error_type,
        finished_before=seconds_of(finished_before),
    )  # fmt: skip
    return DeadCount(count=await use_cases.count(caller.store, wanted))


@router.post("/replay", operation_id="replay_dead_letters", responses=answers())
async def replay_many(wanted: DeadChoice, caller: Actor) -> DeadAction:
    """Bring dead jobs back: those with these ids, or all that fit."""
    return await _on_chosen(wanted, caller, use_cases.replay_many, use_cases.replay_ids)


@router.post("/cancel", operation_id="cancel_dead_letters", responses=answers())
async def cancel_many(wanted: DeadChoice, caller: Actor) -> DeadAction:
    """Cancel dead jobs, which nobody will replay: those with these ids, or all that fit."""
    return await _on_chosen(wanted, caller, use_cases.cancel_many, use_cases.cancel_ids)


@router.post("/purge", operation_id="purge_dead_letters", responses=answers())
async def purge(wanted: Purge, caller: Actor) -> Purged:
    """Remove dead jobs for good: those with these ids, or all that fit and died so many seconds ago."""
    if wanted.filter is None or wanted.older_than is None:
        return await _purge_ids(wanted, caller)
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    if wanted.dry_run:
        return Purged(removed=0, would_remove=await use_cases.count_old(caller.store, chosen, wanted.older_than))
    removed = await use_cases.purge(caller.store, chosen, wanted.older_than, caller.operator(wanted))
    return Purged(removed=removed)


@router.post("/replay-in-stages", operation_id="replay_in_stages", responses=answers())
async def replay_staged(wanted: StagedReplay, caller: Actor) -> StagedReport:
    """Bring dead jobs back a few first; it stops by itself where they fail again. Answers when it has ended."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    pace = Pace(wanted.patience, wanted.tolerance)
    return StagedReport.of(await replay_in_stages(caller.store, chosen, caller.operator(wanted), pace, wanted.limit))


@streams.post(
    "/replay-in-stages/stream", operation_id="stream_replay_in_stages", response_class=StreamingResponse,
    responses={**answers(), 200: {"description": EVENTS, **DESCRIBED}},
)  # fmt: skip
async def replay_stream(wanted: StagedReplay, request: Request, caller: Actor) -> StreamingResponse:
    """The same, told as server-sent events; a caller who leaves stops it before the next stage."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    caller.service.follower.require_room(caller.seat)
    return stream(request, caller, _stages(caller, wanted, chosen))


async def _stages(caller: Caller, wanted: StagedReplay, chosen: JobFilter) -> AsyncGenerator[bytes]:
    """Events of a replay that runs beside, and ends with the stream."""
    told: asyncio.Queue[bytes | None] = asyncio.Queue()
    with caller.service.follower.seat(caller.seat):
        replay = asyncio.create_task(_replay(caller, wanted, chosen, told), name="fairlead-replay")
        try:
            while (item := await told.get()) is not None:
                yield item
        finally:
            replay.cancel()
            await asyncio.wait([replay])


async def _replay(caller: Caller, wanted: StagedReplay, chosen: JobFilter, told: asyncio.Queue[bytes | None]) -> None:
    def tell(name: str, document: Any) -> None:
        told.put_nowait(event(name, document))

    try:
        tell("begun", {"total": await use_cases.count(caller.store, chosen)})
        report = await replay_in_stages(
            caller.store,
            chosen,
            caller.operator(wanted),
            Pace(wanted.patience, wanted.tolerance),
            wanted.limit,
            on_stage=lambda stage: tell("stage", asdict(stage)),
            on_look=lambda look: tell("progress", look._asdict()),
        )
        tell("report", StagedReport.of(report))
    except FairleadError as error:
        tell("problem", problem_of(error).document())
    finally:
        told.put_nowait(None)


async def _purge_ids(wanted: Purge, caller: Caller) -> Purged:
    own, foreign = await _own(caller, wanted.ids or [])
    if wanted.dry_run:
        found = _action(await use_cases.find_dead(caller.store, own), foreign)
        return Purged(removed=0, would_remove=len(found.done), refused=found.refused)
    done = _action(await use_cases.purge_ids(caller.store, own, caller.operator(wanted)), foreign)
    return Purged(removed=len(done.done), refused=done.refused)


async def _on_chosen(
    wanted: DeadChoice,
    caller: Caller,
    on_all: Callable[[Store, JobFilter, Operator, int | None], Awaitable[use_cases.Outcome]],
    on_ids: Callable[[Store, Sequence[str], Operator], Awaitable[use_cases.Outcome]],
) -> DeadAction:
    """Do something with all that fit, or with those of the ids that are the caller's."""
    operator = caller.operator(wanted)
    if wanted.filter is not None:
        chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
        return _action(await on_all(caller.store, chosen, operator, wanted.limit))
    own, foreign = await _own(caller, wanted.ids or [])
    return _action(await on_ids(caller.store, own, operator), foreign)


async def _own(caller: Caller, ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """The ids of the caller's jobs, and the others: another tenant's job is as absent as one that never was."""
    if caller.tenant is None:
        return list(ids), []
    known = {job.id for job in await caller.store.reader.read_many(filter(is_id, ids)) if caller.owns(job)}
    return [job_id for job_id in ids if job_id in known], [job_id for job_id in ids if job_id not in known]


def _action(outcome: use_cases.Outcome, absent: Sequence[str] = ()) -> DeadAction:
    missing = {job_id: JobNotFound(f"there is no job {job_id}; {ABSENT}") for job_id in absent}
    return DeadAction(done=list(outcome.done), refused=RefusedDocument.all_of({**outcome.refused, **missing}))
