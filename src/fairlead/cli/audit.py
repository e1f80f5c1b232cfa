"""`fairlead audit`: what operators did, and whether anybody changed the record of it."""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, json_value, moment, plain, show, show_json, table
from fairlead.config import Settings
from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditEntry
from fairlead.operate.audit import Verification, verify_chain


def audit(
    verify: Annotated[bool, typer.Option("--verify", help="Check the chain of hashes instead of listing.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many entries.")] = 20,
    cursor: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Only entries before this one.")] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List what operators did, newest first, or check that nobody changed the list."""
    settings = settings_for(database)
    if verify:
        _show_verification(asyncio.run(_verify(settings)), as_json)
        return
    entries = asyncio.run(_read(settings, limit, cursor))
    if as_json:
        show_json({"entries": [entry_document(entry) for entry in entries]})
    elif entries:
        print_entries(entries)
    else:
        show("no entries")


def entry_document(entry: AuditEntry) -> dict[str, Any]:
    """An entry in JSON."""
    return {
        "id": entry.id,
        "at": json_moment(instant(entry.at)),
        "actor": entry.actor,
        "action": entry.action,
        "target": entry.target,
        "details": json_value(entry.details),
        "previous_hash": entry.previous_hash,
        "hash": entry.hash,
    }


def print_entries(entries: Sequence[AuditEntry]) -> None:
    """Print entries for a person."""
    listing = table(number=True, when=True, who=True, action=True, target=True, jobs=True, reason=False, details=False)
    for entry in entries:
        details = json_value(entry.details)
        shown = dict(details) if isinstance(details, dict) else {"details": details}
        count, reason = shown.pop("count", None), shown.pop("reason", None)
        shown.pop("jobs", None)
        rest = json.dumps(shown, ensure_ascii=False) if shown else None
        columns = (
            entry.id, moment(instant(entry.at)), entry.actor, entry.action, entry.target, count, reason, rest,
        )  # fmt: skip
        listing.add_row(*map(cell, columns))
    show(listing)


async def _read(settings: Settings, limit: int, cursor: int | None) -> list[AuditEntry]:
    async with opened(settings) as client:
        return await client.store.audit.read(limit, cursor)


async def _verify(settings: Settings) -> Verification:
    async with opened(settings) as client:
        return await verify_chain(client.store)


def _show_verification(found: Verification, as_json: bool) -> None:
    if as_json:
        flaws = [{"entry": flaw.entry, "message": flaw.message} for flaw in found.flaws]
        show_json({"sound": found.sound, "entries": found.entries, "hash": found.head.hash, "flaws": flaws})
    elif found.sound:
        show(f"{found.entries} entries, none of them changed; the chain ends in {found.head.hash or 'nothing'}")
    for flaw in () if as_json else found.flaws:
        show(plain(flaw.message), wrap=False)
    if not found.sound:
        raise typer.Exit(1)
