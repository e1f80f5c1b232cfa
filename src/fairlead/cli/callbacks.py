"""`fairlead callbacks`: endpoints that are told how jobs ended, their secrets, and what was sent to them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer

from fairlead.cli.loading import on_store, settings_for
from fairlead.cli.options import Actor, Database, Json, PageSize, duration, group, operator
from fairlead.cli.output import cell, listing, plain, show, show_document
from fairlead.config import Settings
from fairlead.core.web.callbacks import OVERLAP, CallbackEvent, Delivered, Endpoint
from fairlead.errors import CallbackNotFound
from fairlead.operate import callbacks
from fairlead.operate.callbacks import MadeSecret, Sent
from fairlead.records.store import Store

PAGE = 500
MOST_DELIVERIES = 100
Result = TypeVar("Result")

app = group("Make endpoints that are told how jobs end, change and test them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the endpoint.")]
Url = Annotated[str | None, typer.Option(help="Where it is called: https://…; a new endpoint needs it.")]
Tenant = Annotated[str | None, typer.Option(help="Whose endpoint; without it, one that is for all tenants.")]
Only = Annotated[str | None, typer.Option("--tenant", help="Only endpoints of this tenant.")]
Pool = Annotated[str | None, typer.Option(help="The pool whose workers deliver; else short.")]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="What it is told, like job.dead; may be repeated; else everything."),
]
Enabled = Annotated[
    bool | None, typer.Option("--enable/--disable", help="Whether it is called; disabling drops what is on its way.")
]
Why = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why, for the audit.")]
Overlap = Annotated[float, duration("How long the old secret signs too; else 1d.")]
Delivery = Annotated[str, typer.Argument(metavar="DELIVERY", help="The id of the delivery, as `show` lists it.")]


@app.command("list")
def list_callbacks(tenant: Only = None, database: Database = None, as_json: Json = False) -> None:
    """List the endpoints."""
    found = _run(database, lambda store, settings: _all(store, tenant))
    if as_json:
        from fairlead.documents.callbacks import CallbackDocument, CallbackPage

        show_document(CallbackPage(callbacks=[CallbackDocument.of(endpoint) for endpoint in found], cursor=None))
    else:
        _print(found)


@app.command("show")
def show_callback(
    name: Name, tenant: Tenant = None, limit: PageSize = 20, database: Database = None, as_json: Json = False
) -> None:
    """Show an endpoint, and the last tries to reach it."""

    async def read(store: Store, settings: Settings) -> tuple[Endpoint, list[Delivered]]:
        tried, _ = await callbacks.deliveries(store, tenant, name, min(limit, MOST_DELIVERIES))
        return await callbacks.read_endpoint(store, tenant, name), tried

    endpoint, tried = _run(database, read)
    if as_json:
        from fairlead.documents.callbacks import CallbackDocument, DeliveryDocument

        deliveries = [DeliveryDocument.of(item).as_json() for item in tried]
        show_document({**CallbackDocument.of(endpoint).as_json(), "deliveries": deliveries})
        return
    _print([endpoint])
    show("")
    _print_deliveries(tried)


@app.command("set")
def set_callback(
    name: Name, url: Url = None, tenant: Tenant = None, event: Events = None, pool: Pool = None,
    enabled: Enabled = None, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Make an endpoint and print its secret, which is shown this once; or change what is given of one."""
    if url is None and event is None and pool is None and enabled is None:
        raise typer.BadParameter("say what to set: --url, --event, --pool, --enable or --disable")
    who = operator(actor, reason)

    async def act(store: Store, settings: Settings) -> MadeSecret | Endpoint:
        try:
            await callbacks.read_endpoint(store, tenant, name)
        except CallbackNotFound:
            if url is None:
                raise
            return await callbacks.add_endpoint(store, who, settings.egress, name, url, tenant, event, pool)
        return await callbacks.change_endpoint(
            store, who, settings.egress, tenant, name, url=url, events=event, pool=pool, enabled=enabled
        )

    made = _run(database, act)
    if isinstance(made, MadeSecret):
        _print_secret(made, as_json)
    elif as_json:
        from fairlead.documents.callbacks import CallbackDocument

        show_document(CallbackDocument.of(made))
    else:
        _print([made])


@app.command()
def rotate(
    name: Name, tenant: Tenant = None, overlap: Overlap = OVERLAP, actor: Actor = None, reason: Why = None,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Make a new secret and print it; the old one signs too until the overlap is over."""
    who = operator(actor, reason)
    made = _run(database, lambda store, settings: callbacks.rotate_secret(store, who, tenant, name, overlap))
    _print_secret(made, as_json)


@app.command()
def remove(
    name: Name, tenant: Tenant = None, actor: Actor = None, reason: Why = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Remove an endpoint and its log."""
    who = operator(actor, reason)
    _run(database, lambda store, settings: callbacks.remove_endpoint(store, who, tenant, name))
    if as_json:
        show_document({"name": name, "tenant": tenant, "removed": True})
    else:
        show(f"callback endpoint {plain(name)} is removed", wrap=False)


@app.command("test")
def send_test(
    name: Name, tenant: Tenant = None, actor: Actor = None, reason: Why = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Send a ping to an endpoint; a worker delivers it, and `show` says what came back."""
    who = operator(actor, reason)
    sent = _run(
        database, lambda store, settings: callbacks.send_ping(store, who, tenant, name, settings.default_tenant)
    )
    _print_sent(name, sent, as_json)


@app.command()
def redeliver(
    name: Name, delivery_id: Delivery, tenant: Tenant = None, actor: Actor = None, reason: Why = None,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Deliver once more, with the same body and message id."""
    who = operator(actor, reason)
    sent = _run(database, lambda store, settings: callbacks.redeliver(store, who, tenant, name, delivery_id))
    _print_sent(name, sent, as_json)


def _run(database: str | None, act: Callable[[Store, Settings], Awaitable[Result]]) -> Result:
    settings = settings_for(database)
    return on_store(database, lambda store: act(store, settings))


async def _all(store: Store, tenant: str | None) -> list[Endpoint]:
    found, after = await callbacks.list_endpoints(store, PAGE, tenant=tenant)
    while after is not None:
        page, after = await callbacks.list_endpoints(store, PAGE, after, tenant)
        found += page
    return found


def _print_secret(made: MadeSecret, as_json: bool) -> None:
    if as_json:
        from fairlead.documents.callbacks import SecretDocument

        show_document(SecretDocument.of(made.endpoint, secret=made.secret))
        return
    typer.echo(made.secret)
    show(f"the secret of {plain(made.endpoint.name)}; keep it now, it cannot be shown again", error=True, wrap=False)


def _print_sent(name: str, sent: Sent, as_json: bool) -> None:
    if as_json:
        from fairlead.documents.callbacks import SentDocument

        show_document(SentDocument(delivery=sent.job_id, message=sent.message))
    else:
        show(f"{sent.job_id} waits for a worker; see `fairlead callbacks show {plain(name)}`", wrap=False)


def _print(endpoints: Sequence[Endpoint]) -> None:
    listing(
        endpoints,
        {
            "name": lambda item: item.name,
            "tenant": lambda item: item.tenant or "(all)",
            "state": lambda item: cell("enabled", "green") if item.enabled else cell(_why(item), "bold red"),
            "url": lambda item: item.url,
            "events": lambda item: ", ".join(event.removeprefix("job.") for event in item.events),
            "pool": lambda item: item.pool,
        },
        none="no callback endpoints",
        cut=("tenant", "url", "events", "pool"),
    )


def _why(endpoint: Endpoint) -> str:
    return "disabled" if endpoint.why_disabled is None else f"disabled: {endpoint.why_disabled}"


def _print_deliveries(found: Sequence[Delivered]) -> None:
    listing(
        found,
        {
            "at": lambda item: item.at,
            "delivery": lambda item: item.delivery,
            "event": lambda item: item.event,
            "attempt": lambda item: item.attempt,
            "status": lambda item: cell(item.status or "none", "green" if item.error is None else "bold red"),
            "took": lambda item: f"{item.took:.2f} s",
            "job": lambda item: None if item.event == CallbackEvent.PING else item.job_id,
            "error": lambda item: item.error,
        },
        none="nothing was sent yet",
        cut=("job", "error"),
    )
