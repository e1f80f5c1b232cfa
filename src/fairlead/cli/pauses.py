"""`fairlead pause`, `fairlead resume` and `fairlead paused`."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.operate import pauses
from fairlead.operate.audit import Operator

Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="What to pause: type, tenant or pool.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]


def pause(
    scope: Scope, name: Name, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Let no job of a type, tenant or pool start; what runs goes on, and what waits keeps waiting."""
    asyncio.run(_change(scope, name, operator(actor, reason), database, paused=True))
    _print_change(scope, name, as_json, paused=True)


def resume(
    scope: Scope, name: Name, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Let the jobs of a paused type, tenant or pool start again."""
    asyncio.run(_change(scope, name, operator(actor, reason), database, paused=False))
    _print_change(scope, name, as_json, paused=False)


def paused(database: Database = None, as_json: Json = False) -> None:
    """List what is paused, since when and why."""

    async def read() -> list[pauses.Paused]:
        async with opened(settings_for(database)) as client:
            return await pauses.paused(client.store)

    found = asyncio.run(read())
    if as_json:
        show_json({"paused": [{**item._asdict(), "since": json_moment(item.since)} for item in found]})
    elif found:
        _print_paused(found)
    else:
        show("nothing is paused")


async def _change(scope: str, name: str, who: Operator, database: str | None, paused: bool) -> None:
    async with opened(settings_for(database)) as client:
        await (pauses.pause if paused else pauses.resume)(client.store, scope, name, who)


def _print_change(scope: str, name: str, as_json: bool, paused: bool) -> None:
    if as_json:
        show_json({"scope": scope, "name": name, "paused": paused})
    else:
        show(f"{plain(scope)} {plain(name)} is {'paused' if paused else 'no longer paused'}")


def _print_paused(found: Sequence[pauses.Paused]) -> None:
    listing = table(scope=True, name=True, since=True, reason=False)
    for item in found:
        listing.add_row(cell(item.scope), cell(item.name), cell(moment(item.since)), cell(item.reason))
    show(listing)
