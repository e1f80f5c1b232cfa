"""`fairlead keys`: make, list and revoke keys of the HTTP API."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fairlead.cli.enqueue import parse_duration
from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.config import Settings
from fairlead.core.protection.token_bucket import parse_rate
from fairlead.core.web.api_keys import ApiKey, Grant
from fairlead.errors import ConfigError
from fairlead.operate.api_keys import CreatedKey, all_keys, create_key, revoke_key
from fairlead.operate.audit import Operator


def _rate(text: str) -> float:
    try:
        return parse_rate(text)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


Scopes = Annotated[
    list[Grant], typer.Option("--scope", help="What it may be used for; repeat it for more. admin includes all.")
]


def create(
    name: Annotated[str, typer.Argument(help="What the key is for, as lists and the audit show it.")],
    scope: Scopes,
    tenant: Annotated[str | None, typer.Option(help="Let it see and touch only what is this tenant's.")] = None,
    expires_in: Annotated[
        float | None, typer.Option(parser=parse_duration, metavar="DURATION", help="How long it lives, like 30d.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            parser=_rate,
            metavar="RATE",
            help="How many requests it may send, like 100/s or 600/m; each server process counts for itself.",
        ),
    ] = None,
    actor: Actor = None,
    reason: Reason = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Make a key and print it. It is shown this once."""
    who = operator(actor, reason)
    made = asyncio.run(_create(settings_for(database), who, name, scope, tenant, expires_in, rate))
    if as_json:
        show_json({**key_document(made.key), "key": made.text})
        return
    typer.echo(made.text)
    show(f"key {made.key.id} ({plain(made.key.name)}); keep it now, it cannot be shown again", error=True, wrap=False)


def list_all(database: Database = None, as_json: Json = False) -> None:
    """List keys, ended ones included."""
    keys = asyncio.run(_list(settings_for(database)))
    if as_json:
        show_json({"keys": [key_document(key) for key in keys]})
    elif keys:
        _print(keys)
    else:
        show("no keys")


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `fairlead keys list` shows it.")],
    actor: Actor = None,
    reason: Reason = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """End a key; servers refuse it within a second."""
    key = asyncio.run(_revoke(settings_for(database), key_id, operator(actor, reason)))
    if as_json:
        show_json(key_document(key))
    else:
        show(f"key {key.id} ({plain(key.name)}) is revoked", wrap=False)


def key_document(key: ApiKey) -> dict[str, Any]:
    """A key in JSON, without anything that opens a door."""
    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.grants),
        "tenant": key.tenant,
        "live": key.live,
        "created_at": json_moment(key.created_at),
        "expires_at": json_moment(key.expires_at),
        "revoked_at": json_moment(key.revoked_at),
        "last_used_at": json_moment(key.last_used_at),
        "rate": key.rate,
    }


async def _create(
    settings: Settings,
    who: Operator,
    name: str,
    grants: Sequence[Grant],
    tenant: str | None,
    expires_in: float | None,
    rate: float | None,
) -> CreatedKey:
    async with opened(settings) as client:
        return await create_key(client.store, who, name, grants, tenant, expires_in, rate)


async def _list(settings: Settings) -> list[ApiKey]:
    async with opened(settings) as client:
        return [key async for key in all_keys(client.store)]


async def _revoke(settings: Settings, key_id: str, who: Operator) -> ApiKey:
    async with opened(settings) as client:
        return await revoke_key(client.store, key_id, who)


def _state(key: ApiKey) -> str:
    if key.revoked_at:
        return "revoked"
    return "live" if key.live else "expired"


def _print(keys: Sequence[ApiKey]) -> None:
    listing = table(id=True, name=False, scopes=False, tenant=False, state=True, expires=True, last_used=True)
    for key in keys:
        listing.add_row(
            cell(key.id), cell(key.name), cell(", ".join(sorted(key.grants))), cell(key.tenant),
            cell(_state(key), "green" if key.live else "dim"), cell(moment(key.expires_at)),
            cell(moment(key.last_used_at)),
        )  # fmt: skip
    show(listing)
