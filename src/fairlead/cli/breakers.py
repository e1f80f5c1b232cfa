"""`fairlead breakers`: list, show, open, close."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import typer

from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.operate import breakers
from fairlead.operate.breakers import CLOSED, BreakerStatus
from fairlead.records.store import Store

Result = TypeVar("Result")
NAME_HELP = "A dependency, or type:NAME for a job type; ~TENANT at its end means that of one tenant (type:send~acme)."
Name = Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)]
Everything = Annotated[bool, typer.Option("--all", help="Those of quiet job types as well.")]
COLOURS = {CLOSED: "green", "open": "bold red", "half_open": "yellow", "ramping": "yellow"}


def list_breakers(everything: Everything = False, database: Database = None, as_json: Json = False) -> None:
    """List the breakers of dependencies, of job types that failed lately, and of tenants whose jobs fail."""
    found = on_store(database, lambda store: breakers.breakers(store, everything))
    if as_json:
        show_json({"breakers": [_document(status) for status in found]})
    elif not found:
        show("no breakers: no registered job type names what it needs, and none has failed lately")
    else:
        _print_list(found)


def show_breaker(name: Name, database: Database = None, as_json: Json = False) -> None:
    """Show where a breaker is and why, with its counts and the job types that go through it."""
    _print(on_store(database, lambda store: breakers.breaker(store, name)), as_json)


def open_breaker(
    name: Name, reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False
) -> None:
    """Open a breaker: nothing through it starts until it is closed; what runs goes on, what waits keeps waiting."""
    who = operator(actor, reason)
    _print(on_store(database, lambda store: breakers.open_breaker(store, name, who)), as_json)


def close_breaker(
    name: Name, reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False
) -> None:
    """Close a breaker at once, without probes and ramp."""
    who = operator(actor, reason)
    _print(on_store(database, lambda store: breakers.close_breaker(store, name, who)), as_json)


def on_store(database: str | None, action: Callable[[Store], Awaitable[Result]]) -> Result:
    """Run an action on the store that the options name."""

    async def run() -> Result:
        async with opened(settings_for(database)) as client:
            return await action(client.store)

    return asyncio.run(run())


def _print_list(found: list[BreakerStatus]) -> None:
    listing = table(breaker=True, state=True, good=True, bad=True, since=True, why=False)
    for status in found:
        listing.add_row(
            cell(status.name), cell(_word(status), COLOURS[status.phase]), cell(status.good), cell(status.bad),
            cell(moment(status.since)), cell(status.why),
        )  # fmt: skip
    show(listing)


def _print(status: BreakerStatus, as_json: bool) -> None:
    if as_json:
        return show_json(_document(status))
    lines = {
        "state": _word(status),
        "why": status.why,
        "opened by": status.by,
        "since": moment(status.since),
        "until": moment(status.until),
        "openings in a row": status.openings or None,
        "permits": status.permits or None,
        "good runs": status.good,
        "bad runs": status.bad,
        "job types": ", ".join(status.types),
    }
    show(plain(status.name))
    for name, value in lines.items():
        if value is not None:
            show(f"  {name:<18}{plain(value)}", wrap=False)


def _word(status: BreakerStatus) -> str:
    return status.phase.replace("_", "-")


def _document(status: BreakerStatus) -> dict[str, Any]:
    return {
        **asdict(status),
        "since": json_moment(status.since),
        "until": json_moment(status.until),
        "types": list(status.types),
    }
