"""`fairlead backpressure`: how much may be submitted, and what becomes of the rest."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, plain, show, show_json, table
from fairlead.core.durations import humanize
from fairlead.core.protection.backpressure import Action, overload
from fairlead.operate import backpressure
from fairlead.operate.backpressure import Bounds
from fairlead.records.store import Store

Value = TypeVar("Value")
Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="Whom to bound: tenant or tier.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name; * for each tenant by itself.")]
Remove = Annotated[bool, typer.Option("--remove", help="Remove the bound.")]


def list_bounds(database: Database = None, as_json: Json = False) -> None:
    """List the bounds on submissions, and what they refused, put off or shed so far."""
    found = asyncio.run(_with_store(database, backpressure.bounds))
    if as_json:
        show_json(_document(found))
    else:
        _print_bounds(found)


def depth(
    scope: Scope, name: Name,
    waiting: Annotated[int | None, typer.Option("--waiting", min=0, help="How many jobs may wait.")] = None,
    remove: Remove = False, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Bound how many jobs of a tenant may wait; what goes beyond is refused with TENANT_QUEUE_FULL."""
    _require_one(waiting is not None, remove, "--waiting")
    who = operator(actor, reason)
    asyncio.run(_with_store(database, lambda store: backpressure.set_depth(store, scope, name, waiting, who)))
    _print_change(f"the depth of {scope} {name}", remove, as_json)


def rate(
    scope: Scope, name: Name,
    rate: Annotated[str | None, typer.Option("--rate", help="How many jobs: 100/s, 600/m, 5/h.")] = None,
    burst: Annotated[float | None, typer.Option("--burst", help="How many at once after a quiet time.")] = None,
    remove: Remove = False, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Bound how fast a tenant may submit; what goes beyond is refused with TENANT_RATE_LIMIT_EXCEEDED."""
    _require_one(rate is not None, remove, "--rate")
    who = operator(actor, reason)
    asyncio.run(_with_store(database, lambda store: backpressure.set_rate(store, scope, name, rate, who, burst)))
    _print_change(f"the submission rate of {scope} {name}", remove, as_json)


def set_overload(
    waiting: Annotated[
        int | None, typer.Option("--waiting", min=0, help="How many ready jobs are an overload.")
    ] = None,
    action: Annotated[
        str, typer.Option("--action", help=f"What becomes of low priorities: {', '.join(Action)}.")
    ] = Action.REJECT.value,
    below: Annotated[str, typer.Option("--below", help="Jobs of a lower priority than this.")] = "default",
    delay: Annotated[str, typer.Option("--delay", help="How long deferred jobs are put off.")] = "60s",
    remove: Remove = False, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Say what becomes of low priorities while too many jobs are ready."""
    _require_one(waiting is not None, remove, "--waiting")
    policy = None if waiting is None else overload(waiting, action, below, delay)
    who = operator(actor, reason)
    asyncio.run(_with_store(database, lambda store: backpressure.set_overload(store, policy, who)))
    _print_change("the overload policy", remove, as_json)


async def _with_store(database: str | None, work: Callable[[Store], Awaitable[Value]]) -> Value:
    async with opened(settings_for(database)) as client:
        return await work(client.store)


def _require_one(given: bool, remove: bool, option: str) -> None:
    if given == remove:
        raise typer.BadParameter(f"give either {option} or --remove")


def _print_change(what: str, remove: bool, as_json: bool) -> None:
    done = "removed" if remove else "set"
    if as_json:
        show_json({"what": what, "done": done})
    else:
        show(f"{plain(what)} is {done}")


def _document(found: Bounds) -> dict[str, object]:
    return {
        "depths": found.depths,
        "rates": {name: {"rate": rate, "burst": burst} for name, (rate, burst) in found.rates.items()},
        "overload": found.overload.to_value() if found.overload else None,
        "counts": [{"tenant": tenant, "code": code, "jobs": jobs} for (tenant, code), jobs in found.counts.items()],
    }


def _print_bounds(found: Bounds) -> None:
    listing = table(bound=True, of=True, is_=True)
    for name, waiting in found.depths.items():
        listing.add_row(cell("depth"), cell(name), cell(f"{waiting} waiting"))
    for name, (speed, burst) in found.rates.items():
        listing.add_row(cell("rate"), cell(name), cell(f"{speed:g}/s, burst {burst:g}"))
    if policy := found.overload:
        later = f" for {humanize(policy.delay)}" if policy.action is Action.DEFER else ""
        text = f"from {policy.waiting} ready: {policy.action}{later} below {policy.below.word}"
        listing.add_row(cell("overload"), cell("all"), cell(text))
    for (tenant, code), jobs in found.counts.items():
        listing.add_row(cell("so far"), cell(f"tenant:{tenant}"), cell(f"{code}: {jobs} jobs"))
    show(listing if listing.row_count else "no bounds on submissions")
