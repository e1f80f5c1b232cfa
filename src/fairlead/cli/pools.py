"""`fairlead pools`: what they allow, and the types that were moved between them."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from fairlead.cli.enqueue import parse_duration
from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, plain, show, show_json, table
from fairlead.core.durations import humanize
from fairlead.core.jobs.pools import Pool
from fairlead.operate import pools

Name = Annotated[str, typer.Argument(metavar="POOL", help="The pool.")]


def _duration(help_text: str) -> Any:
    return typer.Option(parser=parse_duration, metavar="DURATION", help=help_text)


def list_pools(database: Database = None, as_json: Json = False) -> None:
    """List the pools and their settings, and the types that were moved between them."""

    async def read() -> tuple[list[Pool], dict[str, Mapping[str, Any]]]:
        async with opened(settings_for(database)) as client:
            return await pools.list_pools(client.store), await pools.moved_types(client.store)

    found, moved = asyncio.run(read())
    if as_json:
        show_json({"pools": [_document(pool) for pool in found], "moved": moved})
        return
    listing = table(
        pool=True,
        longest=True,
        concurrency=True,
        estimate=True,
        wait=True,
        depth=True,
        attempts=True,
        timeout=True,
        lease=True,
    )
    for pool in found:
        concurrency = "" if pool.concurrency is None else f"{pool.concurrency}{' beside others' * pool.shared_only}"
        listing.add_row(
            cell(pool.name), cell(_words(pool.longest)), cell(concurrency), cell(_words(pool.estimate)),
            cell(_words(pool.wait)), cell(_number(pool.depth)), cell(_number(pool.attempts)),
            cell(_words(pool.timeout)), cell(_words(pool.lease)),
        )  # fmt: skip
    show(listing)
    for name, value in moved.items():
        show(f"{plain(name)} goes to {plain(value.get('pool'))}: {plain(value.get('why', ''))}")


def set_pool(
    name: Name,
    longest: Annotated[float | None, _duration("What its jobs should run at most.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="The slots of one worker its jobs may take.")] = None,
    estimate: Annotated[float | None, _duration("What a job is charged first if its type never ran.")] = None,
    wait: Annotated[float | None, _duration("The longest that its jobs should wait; else there is an alert.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="How many should be ready; else there is an alert.")] = None,
    attempts: Annotated[int | None, typer.Option(min=1, help="How often jobs without a policy are tried.")] = None,
    timeout: Annotated[float | None, _duration("When runs without a timeout are stopped.")] = None,
    lease: Annotated[float | None, _duration("How long jobs of a dead worker wait at most.")] = None,
    reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Change a pool, or make one; all workers follow within a second."""
    given = {
        "longest": longest, "concurrency": concurrency, "estimate": estimate, "wait": wait, "depth": depth,
        "attempts": attempts, "timeout": timeout, "lease": lease,
    }  # fmt: skip
    changes = {key: value for key, value in given.items() if value is not None}
    if not changes:
        raise typer.BadParameter(
            "say what to set: --longest, --concurrency, --estimate, --wait, --depth, --attempts, --timeout or --lease"
        )
    who = operator(actor, reason)

    async def change() -> Pool:
        async with opened(settings_for(database)) as client:
            return await pools.set_pool(client.store, name, changes, who)

    pool = asyncio.run(change())
    show_json(_document(pool)) if as_json else show(f"pool {plain(name)} is changed")


def reset_pool(
    name: Name, reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False
) -> None:
    """Forget what was set for a pool."""
    who = operator(actor, reason)

    async def change() -> None:
        async with opened(settings_for(database)) as client:
            await pools.reset_pool(client.store, name, who)

    asyncio.run(change())
    show_json({"pool": name, "reset": True}) if as_json else show(f"pool {plain(name)} has its defaults again")


def _words(seconds: float | None) -> str:
    return "" if seconds is None else humanize(seconds)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _document(pool: Pool) -> dict[str, Any]:
    return {
        "pool": pool.name,
        "longest": pool.longest,
        "concurrency": pool.concurrency,
        "concurrency_beside_others_only": pool.shared_only,
        "estimate": pool.estimate,
        "wait": pool.wait,
        "depth": pool.depth,
        "attempts": pool.attempts,
        "timeout": pool.timeout,
        "lease": pool.lease,
    }
