"""`fairlead types` and `fairlead waits`: how long jobs run and wait, and what was done to a type."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.cli.retry_preview import TypeName, document_of, show_terms
from fairlead.core.durations import humanize
from fairlead.core.fairness.run_times import Bar
from fairlead.core.insight.wait_times import Spread
from fairlead.handlers.registered import registered_type
from fairlead.operate.job_types import TypeEvent, TypeLook, TypeView, type_looks, type_view
from fairlead.operate.wait_times import HOUR, WaitView, spread_document, waits_document
from fairlead.operate.wait_times import waits as read_waits

WIDTH = 40
Seconds = Annotated[float, typer.Option(min=60, max=HOUR, help="How far to look back.")]


def list_types(database: Database = None, as_json: Json = False) -> None:
    """List the registered types, where their new jobs go, and how long their runs of the last day took."""

    async def read() -> list[TypeLook]:
        async with opened(settings_for(database)) as client:
            types = sorted(await client.store.types.all(), key=lambda item: item.name)
            return await type_looks(client.store, types)

    looks = asyncio.run(read())
    if as_json:
        show_json({"types": [_look_document(look) for look in looks]})
    elif looks:
        _print_looks(looks)
    else:
        show("no types yet: they are registered when a worker starts")


def show_type(type_name: TypeName, database: Database = None, as_json: Json = False) -> None:
    """Show a type: a histogram of its run times, what was done to it, and when it would be tried again."""

    async def read() -> TypeView:
        async with opened(settings_for(database)) as client:
            return await type_view(client.store, await registered_type(client.store, type_name))

    view = asyncio.run(read())
    if as_json:
        show_json(_view_document(view))
    else:
        _print_view(view)


def waits(seconds: Seconds = 300.0, database: Database = None, as_json: Json = False) -> None:
    """Show how long jobs waited until they were started, by pool."""

    async def read() -> WaitView:
        async with opened(settings_for(database)) as client:
            return await read_waits(client.store, seconds)

    view = asyncio.run(read())
    if as_json:
        show_json(waits_document(view))
    elif view.all is None:
        show(f"nothing was started in the last {humanize(seconds)}")
    else:
        listing = table(pool=True, started=True, p50=True, p95=True, p99=True)
        for name, found in [*view.pools.items(), ("all", view.all)]:
            listing.add_row(cell(name), *_spread_cells(found))
        show(listing)


def _look_document(look: TypeLook) -> dict[str, Any]:
    return {
        "name": look.type.name,
        "version": look.type.version,
        "pool": look.type.pool,
        "place": look.place,
        "runs": look.runs and spread_document(look.runs),
        "histogram": [bar._asdict() for bar in look.bars],
    }


def _view_document(view: TypeView) -> dict[str, Any]:
    return {
        **_look_document(view.look),
        "events": [_event_document(event) for event in view.events],
        "timeout": view.look.terms.timeout,
        "retries": document_of(view.look.terms.policies),
    }


def _event_document(event: TypeEvent) -> dict[str, Any]:
    return {
        "at": json_moment(event.at),
        "by": event.by,
        "what": event.what,
        "old": event.old,
        "new": event.new,
        "why": event.why,
    }


def _print_looks(looks: Sequence[TypeLook]) -> None:
    listing = table(type=False, version=True, pool=True, goes_to=True, runs=True, p50=True, p95=True, p99=True)
    for look in looks:
        moved = look.place if look.place != look.type.pool else ""
        figures = _spread_cells(look.runs)
        listing.add_row(cell(look.type.name), cell(look.type.version), cell(look.type.pool), cell(moved), *figures)
    show(listing)


def _spread_cells(found: Spread | None) -> list[Text]:
    if found is None:
        return [cell(0), cell(None), cell(None), cell(None)]
    return [cell(f"{found.total:,}"), *(cell(humanize(value)) for value in found[1:])]


def _print_view(view: TypeView) -> None:
    look = view.look
    moved = "" if look.place == look.type.pool else f", new jobs go to {look.place}"
    show(f"{plain(look.type.name)} (version {look.type.version}), pool {plain(look.type.pool)}{plain(moved)}")
    _print_runs(look.runs, look.bars)
    if view.events:
        _print_events(view.events)
    show(Text("\nattempts, if each failed at once", "bold"))
    show_terms(look.terms)


def _print_runs(runs: Spread | None, bars: Sequence[Bar]) -> None:
    show(Text("\nruns of the last day", "bold"))
    if runs is None:
        show("none")
        return
    show(f"{runs.total:,}; half took up to {humanize(runs.p50)}, 95 % {humanize(runs.p95)}, 99 % {humanize(runs.p99)}")
    most = max(bar.runs for bar in bars)
    listing = table(begin=True, end=True, runs=True, share=True)
    for bar in bars:
        drawn = "█" * (round(WIDTH * bar.runs / most) or (1 if bar.runs else 0))
        listing.add_row(cell(humanize(bar.begin)), cell(humanize(bar.end)), cell(f"{bar.runs:,}"), cell(drawn, "cyan"))
    show(listing)


def _print_events(events: Sequence[TypeEvent]) -> None:
    show(Text("\nwhat was done to it", "bold"))
    listing = table(when=True, what=True, by=False, why=False)
    for event in events:
        what = event.what if event.new is None else f"{event.what} from {event.old} to {event.new}"
        listing.add_row(cell(moment(event.at)), cell(what), cell(event.by), cell(event.why))
    show(listing)
