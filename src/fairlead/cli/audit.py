"""`fairlead audit`: what operators did, and whether anybody changed the record of it."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from fairlead.cli.loading import on_store
from fairlead.cli.options import Database, Json, PageSize
from fairlead.cli.output import listing, plain, show, show_document
from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditEntry
from fairlead.operate.audit import Verification, verify_chain

app = typer.Typer()

Verify = Annotated[bool, typer.Option("--verify", help="Check the chain of hashes instead of listing.")]
Before = Annotated[int | None, typer.Option("--cursor", min=1, metavar="NUMBER", help="Only entries before this one.")]


@app.command()
def audit(
    verify: Verify = False, limit: PageSize = 20, cursor: Before = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """List what operators did, newest first, or check that nobody changed the list."""
    if verify:
        _show_verification(on_store(database, verify_chain), as_json)
        return
    entries = on_store(database, lambda store: store.audit.read(limit, cursor))
    if as_json:
        from fairlead.documents.audit import AuditDocument, AuditPage

        following = entries[-1].id if len(entries) == limit else None
        show_document(AuditPage(entries=[AuditDocument.of(entry) for entry in entries], cursor=following))
        return
    listing(
        entries,
        {
            "number": lambda item: item.id,
            "when": lambda item: instant(item.at),
            "who": lambda item: item.actor,
            "action": lambda item: item.action,
            "target": lambda item: item.target,
            "jobs": lambda item: _details(item).get("count"),
            "reason": lambda item: _details(item).get("reason"),
            "details": _rest,
        },
        none="no entries",
        cut=("reason", "details"),
    )


def _details(entry: AuditEntry) -> Mapping[str, Any]:
    found = json.loads(entry.details)
    return found if isinstance(found, dict) else {"details": found}


def _rest(entry: AuditEntry) -> str | None:
    """The details that have no column of their own."""
    rest = {name: value for name, value in _details(entry).items() if name not in ("count", "reason", "jobs")}
    return json.dumps(rest, ensure_ascii=False) if rest else None


def _show_verification(found: Verification, as_json: bool) -> None:
    if as_json:
        from fairlead.documents.audit import Verification as Document

        show_document(Document.of(found))
    elif found.sound:
        show(f"{found.entries} entries, none of them changed; the chain ends in {found.head.hash or 'nothing'}")
    for flaw in () if as_json else found.flaws:
        show(plain(flaw.message), wrap=False)
    if not found.sound:
        raise typer.Exit(1)
