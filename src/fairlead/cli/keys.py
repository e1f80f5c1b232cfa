"""`fairlead keys`: make, list and revoke keys of the HTTP API."""

from typing import Annotated

import typer

from fairlead.cli.loading import on_store
from fairlead.cli.options import Actor, Database, Json, Reason, group, operator, parse_duration
from fairlead.cli.output import cell, listing, plain, show, show_document
from fairlead.core.protection.token_bucket import parse_rate
from fairlead.core.web.api_keys import ApiKey, Grant
from fairlead.errors import ConfigError
from fairlead.operate.api_keys import all_keys, create_key, revoke_key
from fairlead.records.store import Store


def _rate(text: str) -> float:
    try:
        return parse_rate(text)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


app = group("Make, list and revoke keys of the HTTP API.")

Scopes = Annotated[
    list[Grant], typer.Option("--scope", help="What it may be used for; repeat it for more. admin includes all.")
]


@app.command()
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
    made = on_store(database, lambda store: create_key(store, who, name, scope, tenant, expires_in, rate))
    if as_json:
        from fairlead.documents.api_keys import CreatedKeyDocument

        show_document(CreatedKeyDocument.of(made.key, key=made.text))
        return
    typer.echo(made.text)
    show(f"key {made.key.id} ({plain(made.key.name)}); keep it now, it cannot be shown again", error=True, wrap=False)


@app.command("list")
def list_all(database: Database = None, as_json: Json = False) -> None:
    """List keys, ended ones included."""
    keys = on_store(database, _read)
    if as_json:
        from fairlead.documents.api_keys import KeyDocument, KeyPage

        show_document(KeyPage(keys=[KeyDocument.of(key) for key in keys], cursor=None))
        return
    listing(
        keys,
        {
            "id": lambda key: key.id,
            "name": lambda key: key.name,
            "scopes": lambda key: ", ".join(sorted(key.grants)),
            "tenant": lambda key: key.tenant,
            "state": lambda key: cell(_state(key), "green" if key.live else "dim"),
            "expires": lambda key: key.expires_at,
            "last used": lambda key: key.last_used_at,
        },
        none="no keys",
        cut=("name", "scopes", "tenant"),
    )


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `fairlead keys list` shows it.")],
    actor: Actor = None,
    reason: Reason = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """End a key; servers refuse it within a second."""
    who = operator(actor, reason)
    key = on_store(database, lambda store: revoke_key(store, key_id, who))
    if as_json:
        from fairlead.documents.api_keys import KeyDocument

        show_document(KeyDocument.of(key))
    else:
        show(f"key {key.id} ({plain(key.name)}) is revoked", wrap=False)


async def _read(store: Store) -> list[ApiKey]:
    return [key async for key in all_keys(store)]


def _state(key: ApiKey) -> str:
    if key.revoked_at:
        return "revoked"
    return "live" if key.live else "expired"
