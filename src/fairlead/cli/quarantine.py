"""`fairlead quarantine`: list, put, release."""

from typing import Annotated

import typer

from fairlead.cli.breakers import on_store
from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.operate import quarantine

Type = Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")]

Attempts = Annotated[int, typer.Option(min=0, help="How many attempts its jobs have; with 0 nothing of it starts.")]


def list_quarantined(database: Database = None, as_json: Json = False) -> None:
    """List the job types in quarantine, since when and why."""
    found = on_store(database, quarantine.quarantined)
    if as_json:
        show_json({"quarantined": [{**item._asdict(), "since": json_moment(item.since)} for item in found]})
    elif not found:
        show("no job type is in quarantine")
    else:
        listing = table(type=True, since=True, by=True, attempts=True, why=False)
        for item in found:
            listing.add_row(
                cell(item.type), cell(moment(item.since)), cell(item.by or "itself"),
                cell(item.attempts or "none starts"), cell(item.why),
            )  # fmt: skip
        show(listing)


def put(
    type_: Type, attempts: Attempts = 0, reason: Reason = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Put a job type into quarantine: until it is released nothing of it starts, or its jobs have few attempts."""
    who = operator(actor, reason)
    on_store(database, lambda store: quarantine.put(store, type_, who, attempts))
    _print(type_, as_json, quarantined=True)


def release(
    type_: Type, reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False
) -> None:
    """Release a job type from quarantine; jobs that waited have kept their places and their attempts."""
    who = operator(actor, reason)
    on_store(database, lambda store: quarantine.release(store, type_, who))
    _print(type_, as_json, quarantined=False)


def _print(type_: str, as_json: bool, quarantined: bool) -> None:
    if as_json:
        show_json({"type": type_, "quarantined": quarantined})
    else:
        show(f"type {plain(type_)} is {'in quarantine' if quarantined else 'released'}")
