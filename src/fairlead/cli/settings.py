"""`fairlead settings`: everything that operators set at run time."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlead.cli.loading import on_store
from fairlead.cli.options import Actor, Database, Json, group, operator
from fairlead.cli.output import cell, listing, moment, plain, show, show_document
from fairlead.core.durations import humanize
from fairlead.insight.protection import limit_holders
from fairlead.operate.setting_kinds import KINDS, Kind
from fairlead.operate.settings import (
    Setting,
    kind_of,
    list_settings,
    read_setting,
    remove_setting,
    set_setting,
)
from fairlead.records.store import Store

DURATIONS = frozenset({"longest", "estimate", "wait", "timeout", "lease", "window", "delay"})
HIDDEN = frozenset({"each", "group", "types"})  # state that a table has no room for

app = group("Look at run-time settings, set and remove them: limits, backpressure, breakers, pools, tenants ...")

KindName = Annotated[str, typer.Argument(metavar="KIND", help=f"The kind: {', '.join(KINDS)}.")]
SomeKind = Annotated[str | None, typer.Argument(metavar="[KIND]", help="The kind; without one, what operators set.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name, such as acme, tenant:acme or type:mail.")]
Fields = Annotated[
    list[str] | None, typer.Argument(metavar="[FIELD=VALUE]...", help="What to set; none is no such bound.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Give fields that are not named their defaults.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why, for the audit.")]


@app.command("list")
def list_all(kind: SomeKind = None, database: Database = None, as_json: Json = False) -> None:
    """List the settings of a kind that are in force, or of all kinds those that operators have set."""
    kinds = list(KINDS) if kind is None else [kind_of(kind).name]

    async def read(store: Store) -> list[Setting]:
        found = [item for name in kinds for item in await list_settings(store, name)]
        return [item for item in found if kind is not None or item.version]

    found = on_store(database, read)
    if as_json:
        show_document({"settings": [document(item) for item in found]})
    elif kind is None:
        _print_all(found)
    else:
        _print_kind(KINDS[kind], found)


@app.command("show")
def show_one(kind: KindName, name: Name, database: Database = None, as_json: Json = False) -> None:
    """Show what is in force under a name, whether somebody set it or not, and for a limit which jobs run under it."""

    async def read(store: Store) -> tuple[Setting, list[dict[str, Any]]]:
        found = await read_setting(store, kind, name)
        return found, await _holders(store, found)

    found, holders = on_store(database, read)
    if as_json:
        show_document({**document(found), **({"holders": holders} if kind == "limit" else {})})
        return
    _print_setting(found)
    for item in holders:
        show(f"  {plain(item['id'])}  {plain(item['tenant'])}  since {plain(item['since'])}", wrap=False)


@app.command("set")
def set_one(
    kind: KindName, name: Name, fields: Fields = None, replace: Replace = False, reason: Why = None,
    actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Set fields of a setting, such as `settings set limit tenant:acme concurrent=20`; workers follow in a second."""
    given, who = _parsed(kind_of(kind), fields or []), operator(actor, reason)
    made = on_store(database, lambda store: set_setting(store, kind, name, given, who, keep=not replace))
    show_document(document(made)) if as_json else _print_setting(made)


@app.command("remove")
def remove_one(
    kind: KindName, name: Name, reason: Why = None, actor: Actor = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Remove what was set, so that the default is in force: a breaker closes, a quarantined type is released."""
    who = operator(actor, reason)
    on_store(database, lambda store: remove_setting(store, kind, name, who))
    if as_json:
        show_document({"kind": kind, "name": name, "removed": True})
    else:
        show(f"{plain(kind)} {plain(name)} is removed; its default is in force")


@app.command()
def kinds(as_json: Json = False) -> None:
    """List the kinds of settings, how they are named and which fields they have."""
    if as_json:
        from fairlead.documents.settings import KindDocument, KindList

        show_document(KindList(kinds=[KindDocument.of(kind) for kind in KINDS.values()]))
        return
    for kind in KINDS.values():
        show(Text(kind.name, "bold"), plain(kind.about), wrap=False)
        for field in kind.fields:
            show(f"    {field.name:<12}{plain(field.about)}", wrap=False)


def document(item: Setting) -> dict[str, Any]:
    """A setting in JSON, as the API has it."""
    from fairlead.documents.settings import SettingDocument

    return SettingDocument.of(item).as_json()


async def _holders(store: Store, found: Setting) -> list[dict[str, Any]]:
    if found.kind != "limit":
        return []
    scope, _, what = found.name.partition(":")
    held = await limit_holders(store, scope, what)
    return [{**item._asdict(), "since": datetime.fromtimestamp(item.since, UTC).isoformat()} for item in held]


def _parsed(kind: Kind, fields: list[str]) -> dict[str, str]:
    given = {}
    for text in fields:
        name, sign, value = text.partition("=")
        if not sign:
            known = ", ".join(f"{field.name}=…" for field in kind.fields) or "none"
            raise typer.BadParameter(f"{text!r} is not FIELD=VALUE; the fields of {kind.name} are {known}")
        given[name] = value
    return given


def _print_all(found: list[Setting]) -> None:
    listing(
        found,
        {
            "kind": lambda item: item.kind,
            "name": lambda item: item.name,
            "what": lambda item: ", ".join(
                f"{name}={_text(name, value)}" for name, value in (item.value or {}).items()
            ),
            "set": lambda item: item.set_at,
        },
        none="nobody has set anything; `fairlead settings kinds` says what can be set",
        cut=("what",),
    )


def _in_a_line(item: Setting) -> str:
    return ", ".join(f"{name}={_text(name, value)}" for name, value in (item.value or {}).items())


def _print_kind(kind: Kind, found: list[Setting]) -> None:
    names = dict.fromkeys(name for item in found for name in {**(item.value or {}), **item.state})
    columns = {
        name: (lambda item, name=name: cell(_text(name, {**(item.value or {}), **item.state}.get(name))))
        for name in names
        if name not in HIDDEN
    }
    listing(
        found,
        {"name": lambda item: item.name, **columns, "set": lambda item: item.set_at},
        none=f"no {kind.name} is in force",
        cut=("why", "reason"),
    )


def _print_setting(item: Setting) -> None:
    show(Text(f"{item.kind} {plain(item.name)}", "bold"), "" if item.version else "(not set by an operator)")
    for name, value in {**(item.value or {}), **item.state}.items():
        if value not in (None, ()):
            show(f"  {name.replace('_', ' '):<16}{plain(_text(name, value))}", wrap=False)


def _text(name: str, value: object) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return str(moment(value))
    if isinstance(value, float):
        return humanize(value) if name in DURATIONS else f"{value:g}{'/s' if name == 'rate' else ''}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
