"""`fairlead limits`: list, set and remove."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer

from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.core.durations import instant
from fairlead.core.protection.limits import SCOPES
from fairlead.operate import limits
from fairlead.operate.limits import LimitInForce
from fairlead.records.limits import Holder
from fairlead.records.store import Store

Value = TypeVar("Value")
Scope = Annotated[str, typer.Argument(metavar="SCOPE", help=f"What to limit: {', '.join(SCOPES)}.")]
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Its name; acme+short for a tenant in a pool, stripe=7 for one key of a declared limit, "
        "* for each of the kind by itself.",
    ),
]
Concurrent = Annotated[int | None, typer.Option("--concurrent", min=0, help="How many may run at once; 0 stops all.")]
Rate = Annotated[str | None, typer.Option("--rate", help="How many may start in a time: 100/s, 600/m, 5/h.")]
Burst = Annotated[float | None, typer.Option("--burst", help="How many may start at once after a quiet time.")]
Unlimited = Annotated[bool, typer.Option("--unlimited", help="Lift the limit that the handler declares.")]


def list_limits(database: Database = None, as_json: Json = False) -> None:
    """List the limits in force and how much of each is in use."""
    found = asyncio.run(_with_store(database, limits.limits))
    if as_json:
        show_json({"limits": [item._asdict() for item in found]})
    elif found:
        _print_limits(found)
    else:
        show("no limits")


def show_limit(scope: Scope, name: Name, database: Database = None, as_json: Json = False) -> None:
    """Show a limit in force, how much of it is in use, and which jobs run under it."""

    async def read(store: Store) -> tuple[LimitInForce, list[Holder]]:
        return await limits.show_limit(store, scope, name), await limits.limit_holders(store, scope, name)

    found, holders = asyncio.run(_with_store(database, read))
    if as_json:
        show_json({**found._asdict(), "holders": [_holder_document(item) for item in holders]})
        return
    _print_limits([found])
    if holders:
        listing = table(job=True, tenant=False, since=True, worker=False)
        for item in holders:
            listing.add_row(cell(item.id), cell(item.tenant), cell(moment(instant(item.since))), cell(item.worker))
        show(listing)


def set_limit(
    scope: Scope, name: Name, concurrent: Concurrent = None, rate: Rate = None, burst: Burst = None,
    unlimited: Unlimited = False, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Limit how many jobs run at once or start in a time, over all workers; it acts within a second."""
    who = operator(actor, reason)

    async def change(store: Store) -> None:
        await limits.set_limit(
            store, scope, name, who, concurrent=concurrent, rate=rate, burst=burst, unlimited=unlimited
        )

    asyncio.run(_with_store(database, change))
    _print_change(scope, name, as_json, "set")


def remove_limit(
    scope: Scope, name: Name, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Remove a limit that was set; what a handler declares is in force again."""
    who = operator(actor, reason)
    asyncio.run(_with_store(database, lambda store: limits.remove_limit(store, scope, name, who)))
    _print_change(scope, name, as_json, "removed")


async def _with_store(database: str | None, work: Callable[[Store], Awaitable[Value]]) -> Value:
    async with opened(settings_for(database)) as client:
        return await work(client.store)


def _holder_document(item: Holder) -> dict[str, object]:
    return {**item._asdict(), "since": json_moment(instant(item.since))}


def _print_change(scope: str, name: str, as_json: bool, done: str) -> None:
    if as_json:
        show_json({"scope": scope, "name": name, "done": done})
    else:
        show(f"the limit of {plain(scope)} {plain(name)} is {done}")


def _concurrent(item: LimitInForce) -> str:
    if item.concurrent is None:
        return "unlimited" if item.rate is None else "-"
    return str(item.concurrent)


def _print_limits(found: Sequence[LimitInForce]) -> None:
    listing = table(scope=True, name=True, running=True, concurrent=True, rate=True, tokens=True, set_by=True)
    for item in found:
        listing.add_row(
            cell(item.scope),
            cell(item.name),
            cell("each" if item.each else str(item.running)),
            cell(_concurrent(item)),
            cell("-" if item.rate is None else f"{item.rate:g}/s, burst {item.burst:g}"),
            cell("-" if item.tokens is None else f"{item.tokens:.1f}"),
            cell(item.set_by),
        )
    show(listing)
