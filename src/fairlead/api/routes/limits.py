"""/v1/limits: how many may run at once or start in a time, over all workers."""

from datetime import UTC, datetime

from fastapi import APIRouter, Response

from fairlead.api.answers import answers
from fairlead.api.caller import Caller, Chief, Overseer
from fairlead.api.conditions import ExpectedVersions, tag
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import ReasonQuery
from fairlead.api.models.guards import HolderDocument, LimitDetail, LimitDocument, Limits
from fairlead.api.models.settings import LimitPath, LimitScope, LimitSetting
from fairlead.operate import limits as use_cases
from fairlead.records.limits import Holder

router = APIRouter(prefix="/v1/limits", tags=["limits"], route_class=Endpoint)


@router.get("", responses=answers())
async def list_limits(caller: Overseer) -> Limits:
    """All limits in force, and their use now."""
    return Limits(limits=[LimitDocument(**item._asdict()) for item in await use_cases.limits(caller.store)])


@router.get("/{scope}/{name:path}", responses=answers(404))
async def show(scope: LimitScope, name: LimitPath, caller: Overseer, response: Response) -> LimitDetail:
    """One limit in force, its use now, and the jobs that run under it."""
    return await _document(caller, scope, name, response)


@router.put("/{scope}/{name:path}", responses=answers(404, 412))
async def put(
    scope: LimitScope,
    name: LimitPath,
    wanted: LimitSetting,
    caller: Chief,
    expected: ExpectedVersions,
    response: Response,
) -> LimitDetail:
    """Limit something from now on, over all workers, instead of what its handler declares."""
    operator = caller.operator(wanted.reason)
    await use_cases.set_limit(
        caller.store,
        scope,
        name,
        operator,
        concurrent=wanted.concurrent,
        rate=wanted.rate,
        burst=wanted.burst,
        unlimited=wanted.unlimited,
        expected=expected,
    )
    return await _document(caller, scope, name, response)


@router.delete("/{scope}/{name:path}", status_code=204, responses=answers(404, 412))
async def remove(
    scope: LimitScope, name: LimitPath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None
) -> None:
    """Remove what was set; what a handler declares is in force again."""
    await use_cases.remove_limit(caller.store, scope, name, caller.operator(reason), expected)


async def _document(caller: Caller, scope: str, name: str, response: Response) -> LimitDetail:
    found = await use_cases.show_limit(caller.store, scope, name)
    tag(response, found.version)
    holders = [_holder(item) for item in await use_cases.limit_holders(caller.store, scope, name)]
    return LimitDetail(**found._asdict(), holders=holders)


def _holder(item: Holder) -> HolderDocument:
    since = datetime.fromtimestamp(item.since, UTC)
    return HolderDocument(id=item.id, tenant=item.tenant, since=since, worker=item.worker)
