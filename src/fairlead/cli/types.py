"""`fairlead types`: the registered types, how long their runs take, and when their failures are tried again."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from fairlead.cli.loading import load_app, on_store
from fairlead.cli.options import Database, Json, group
from fairlead.cli.output import cell, listing, plain, show, show_document
from fairlead.cli.retry_terms import print_terms
from fairlead.core.durations import humanize
from fairlead.core.fairness.run_times import Bar
from fairlead.core.insight.wait_times import Spread
from fairlead.core.jobs.pools import Pools, terms_in
from fairlead.core.protection.controls import Controls
from fairlead.handlers.registered import registered_type
from fairlead.insight.job_types import TypeEvent, TypeLook, TypeView, type_looks, type_view
from fairlead.records.store import Store

app = group("Look at job types, how long they run and when they are tried again.")

WIDTH = 40

TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")]
Code = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:APP", help="Its retries by your code instead, with the built-in pools."),
]


@app.command("list")
def list_types(database: Database = None, as_json: Json = False) -> None:
    """List the registered types, where their new jobs go, and how long their runs of the last day took."""

    async def read(store: Store) -> list[TypeLook]:
        return await type_looks(store, sorted(await store.types.all(), key=lambda item: item.name))

    found = on_store(database, read)
    if as_json:
        from fairlead.documents.types import TypeDocument, TypeList

        show_document(TypeList(types=[TypeDocument.of(look) for look in found]))
        return
    listing(
        found,
        {
            "type": lambda look: look.type.name,
            "version": lambda look: look.type.version,
            "pool": lambda look: look.type.pool,
            "goes to": lambda look: look.place if look.place != look.type.pool else None,
            "runs": lambda look: f"{look.runs.total:,}" if look.runs else 0,
            "p50": lambda look: humanize(look.runs.p50) if look.runs else None,
            "p95": lambda look: humanize(look.runs.p95) if look.runs else None,
            "p99": lambda look: humanize(look.runs.p99) if look.runs else None,
        },
        none="no types yet: they are registered when a worker starts",
        cut=("type",),
    )


@app.command("show")
def show_type(type_name: TypeName, code: Code = None, database: Database = None, as_json: Json = False) -> None:
    """Show a type: its run times, what was done to it, and when each class of failure would be tried again."""
    if code is not None:
        _show_declared(type_name, code, as_json)
        return

    async def read(store: Store) -> TypeView:
        return await type_view(store, await registered_type(store, type_name))

    view = on_store(database, read)
    if as_json:
        from fairlead.documents.types import TypeDetail

        show_document(TypeDetail.of(view))
    else:
        _print_view(view)


def _show_declared(type_name: str, code: str, as_json: bool) -> None:
    spec = load_app(code).registry[type_name]
    terms = terms_in(Pools(Controls()).get(spec.pool), spec.timeout, spec.policies, spec.usual_retry)
    if as_json:
        from fairlead.documents.types import retry_documents

        retries = {failure.value: item.as_json() for failure, item in retry_documents(terms.policies).items()}
        show_document({"name": type_name, "timeout": terms.timeout, "retries": retries})
    else:
        show(f"{plain(type_name)}: attempts, if each failed at once; the scale is logarithmic", wrap=False)
        print_terms(terms)


def _print_view(view: TypeView) -> None:
    look = view.look
    moved = "" if look.place == look.type.pool else f", new jobs go to {look.place}"
    show(f"{plain(look.type.name)} (version {look.type.version}), pool {plain(look.type.pool)}{plain(moved)}")
    _print_runs(look.runs, look.bars)
    if view.events:
        _print_events(view.events)
    show(Text("\nattempts, if each failed at once", "bold"))
    print_terms(look.terms)


def _print_runs(runs: Spread | None, bars: Sequence[Bar]) -> None:
    show(Text("\nruns of the last day", "bold"))
    if runs is None:
        show("none")
        return
    show(f"{runs.total:,}; half took up to {humanize(runs.p50)}, 95 % {humanize(runs.p95)}, 99 % {humanize(runs.p99)}")
    most = max(bar.runs for bar in bars)
    listing(
        bars,
        {
            "begin": lambda bar: humanize(bar.begin),
            "end": lambda bar: humanize(bar.end),
            "runs": lambda bar: f"{bar.runs:,}",
            "share": lambda bar: cell("█" * (round(WIDTH * bar.runs / most) or (1 if bar.runs else 0)), "cyan"),
        },
        none="",
    )


def _print_events(events: Sequence[TypeEvent]) -> None:
    show(Text("\nwhat was done to it", "bold"))
    listing(
        events,
        {
            "when": lambda item: item.at,
            "what": lambda item: item.what if item.new is None else f"{item.what} from {item.old} to {item.new}",
            "by": lambda item: item.by,
            "why": lambda item: item.why,
        },
        none="",
        cut=("by", "why"),
    )
