"""/v1/backpressure, /v1/retry-budgets: how much may be submitted, how much retried, and what becomes of the rest."""

from fastapi import APIRouter, Response

from fairlead.api.answers import answers
from fairlead.api.caller import Caller, Chief, Overseer, Reader
from fairlead.api.conditions import ExpectedVersions, tag
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import ReasonQuery
from fairlead.api.models.settings import (
    Backpressure,
    BudgetDocument,
    Budgets,
    BudgetSetting,
    DepthSetting,
    NamePath,
    OverloadSetting,
    RateSetting,
    RulePath,
    RuleScope,
    backpressure_document,
    budget_document,
)
from fairlead.core.protection.backpressure import overload
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.operate import backpressure, retry_budgets

router = APIRouter(prefix="/v1", tags=["backpressure"], route_class=Endpoint)


@router.get("/backpressure", responses=answers())
async def list_bounds(caller: Overseer) -> Backpressure:
    """The bounds on submissions, and what they refused, put off or shed so far."""
    return await _bounds(caller)


@router.put("/backpressure/depths/{scope}/{name:path}", responses=answers(404, 412))
async def put_depth(
    scope: RuleScope, name: RulePath, wanted: DepthSetting, caller: Chief, expected: ExpectedVersions
) -> Backpressure:
    """Bound how many jobs of a tenant may wait; what goes beyond is refused with TENANT_QUEUE_FULL."""
    await backpressure.set_depth(caller.store, scope, name, wanted.waiting, caller.operator(wanted.reason), expected)
    return await _bounds(caller)


@router.delete("/backpressure/depths/{scope}/{name:path}", status_code=204, responses=answers(404, 412))
async def remove_depth(
    scope: RuleScope, name: RulePath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None
) -> None:
    """Remove a bound on how many jobs may wait."""
    await backpressure.set_depth(caller.store, scope, name, None, caller.operator(reason), expected)


@router.put("/backpressure/rates/{scope}/{name:path}", responses=answers(404, 412))
async def put_rate(
    scope: RuleScope, name: RulePath, wanted: RateSetting, caller: Chief, expected: ExpectedVersions
) -> Backpressure:
    """Bound how fast a tenant may submit; what goes beyond is refused with TENANT_RATE_LIMIT_EXCEEDED."""
    operator = caller.operator(wanted.reason)
    await backpressure.set_rate(caller.store, scope, name, wanted.rate, operator, wanted.burst, expected)
    return await _bounds(caller)


@router.delete("/backpressure/rates/{scope}/{name:path}", status_code=204, responses=answers(404, 412))
async def remove_rate(
    scope: RuleScope, name: RulePath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None
) -> None:
    """Remove a bound on how fast a tenant may submit."""
    await backpressure.set_rate(caller.store, scope, name, None, caller.operator(reason), expected=expected)


@router.put("/backpressure/overload", responses=answers(412))
async def put_overload(wanted: OverloadSetting, caller: Chief, expected: ExpectedVersions) -> Backpressure:
    """Say what becomes of low priorities while too many jobs are ready."""
    policy = overload(wanted.waiting, wanted.action, wanted.below, wanted.delay)
    await backpressure.set_overload(caller.store, policy, caller.operator(wanted.reason), expected)
    return await _bounds(caller)


@router.delete("/backpressure/overload", status_code=204, responses=answers(404, 412))
async def remove_overload(caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None) -> None:
    """Take all priorities, whatever waits."""
    await backpressure.set_overload(caller.store, None, caller.operator(reason), expected)


@router.get("/retry-budgets", responses=answers())
async def list_budgets(caller: Reader) -> Budgets:
    """The tenants that had retries lately, how many they may have, and who has used them up."""
    found = await retry_budgets.budgets(caller.store)
    own = [status for status in found if caller.tenant in (None, status.tenant)]
    return Budgets(budgets=[budget_document(status) for status in own])


@router.get("/retry-budgets/{name:path}", responses=answers(404))
async def show_budget(name: NamePath, caller: Reader, response: Response) -> BudgetDocument:
    """The retry budget in force for a tenant, and how much of it is used."""
    caller.tenant_for(name)
    return await _budget(caller, name, response)


@router.put("/retry-budgets/{name:path}", responses=answers(404, 412))
async def put_budget(
    name: NamePath, wanted: BudgetSetting, caller: Chief, expected: ExpectedVersions, response: Response
) -> BudgetDocument:
    """Give a tenant a retry budget of its own."""
    policy = RetryBudget(wanted.ratio, wanted.floor, wanted.window, wanted.beyond)
    await retry_budgets.set_budget(caller.store, name, policy, caller.operator(wanted.reason), expected)
    return await _budget(caller, name, response)


@router.delete("/retry-budgets/{name:path}", status_code=204, responses=answers(404, 412))
async def reset_budget(name: NamePath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None) -> None:
    """Let the application's retry budget be in force for a tenant again."""
    await retry_budgets.reset_budget(caller.store, name, caller.operator(reason), expected)


async def _bounds(caller: Caller) -> Backpressure:
    return backpressure_document(await backpressure.bounds(caller.store))


async def _budget(caller: Caller, name: str, response: Response) -> BudgetDocument:
    status = await retry_budgets.show_budget(caller.store, name)
    tag(response, status.version)
    return budget_document(status)
