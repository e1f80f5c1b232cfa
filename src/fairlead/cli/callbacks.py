"""`fairlead callbacks`: endpoints that are told how jobs ended, their secrets, and what was sent to them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer

from fairlead.cli.enqueue import parse_duration
from fairlead.cli.filters import Actor, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.config import Settings
from fairlead.core.web.callbacks import KEPT_DELIVERIES, OVERLAP, CallbackEvent, Delivered, Endpoint
from fairlead.operate import callbacks as use_cases
from fairlead.operate.callbacks import MadeSecret, Sent
from fairlead.records.store import Store

PAGE = 500
Result = TypeVar("Result")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the endpoint.")]
Url = Annotated[str, typer.Argument(metavar="URL", help="Where it is called: https://…")]
Tenant = Annotated[str | None, typer.Option(help="Whose endpoint; without it, one that is for all tenants.")]
Only = Annotated[str | None, typer.Option("--tenant", help="Only endpoints of this tenant.")]
Pool = Annotated[str | None, typer.Option(help="The pool whose workers deliver; else short.")]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="What it is told, like job.dead; may be repeated; else everything."),
]
Why = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why, for the audit.")]
Overlap = Annotated[
    float,
    typer.Option(parser=parse_duration, metavar="DURATION", help="How long the old secret signs too; else 1d."),
]


def list_callbacks(tenant: Only = None, database: Database = None, as_json: Json = False) -> None:
    """List endpoints; the URL says where they are called."""
    found = _run(database, lambda store, settings: _all(store, tenant))
    if as_json:
        show_json({"callbacks": [endpoint_document(endpoint) for endpoint in found]})
    elif found:
        _print(found)
    else:
        show("no callback endpoints")


def add(
    name: Name, url: Url, tenant: Tenant = None, event: Events = None, pool: Pool = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Make an endpoint and print its secret. It is shown this once."""
    who = operator(actor, reason)
    made = _run(
        database,
        lambda store, settings: use_cases.add_endpoint(store, who, settings.egress, name, url, tenant, event, pool),
    )
    _print_secret(made, as_json)


def change(
    name: Name, tenant: Tenant = None,
    url: Annotated[str | None, typer.Option(help="Where it is called from now on.")] = None,
    event: Events = None, pool: Pool = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Change where an endpoint is called, what it is told, or who delivers."""
    if url is None and event is None and pool is None:
        raise typer.BadParameter("nothing to change; give --url, --event or --pool")
    _change(database, as_json, name, tenant, actor, reason, url=url, events=event, pool=pool)


def rotate(
    name: Name, tenant: Tenant = None, overlap: Overlap = OVERLAP,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Make a new secret and print it; the old one signs too until the overlap is over."""
    who = operator(actor, reason)
    _print_secret(
        _run(database, lambda store, settings: use_cases.rotate_secret(store, who, tenant, name, overlap)), as_json
    )


def enable(
    name: Name, tenant: Tenant = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Let an endpoint be called again; what ended meanwhile is not told."""
    _change(database, as_json, name, tenant, actor, reason, enabled=True)


def disable(
    name: Name, tenant: Tenant = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Call an endpoint no more; what is on its way to it is dropped."""
    _change(database, as_json, name, tenant, actor, reason, enabled=False)


def remove(
    name: Name, tenant: Tenant = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Remove an endpoint and its log."""
    who = operator(actor, reason)
    _run(database, lambda store, settings: use_cases.remove_endpoint(store, who, tenant, name))
    if as_json:
        show_json({"removed": name, "tenant": tenant})
    else:
        show(f"callback endpoint {plain(name)} is removed", wrap=False)


def send_test(
    name: Name, tenant: Tenant = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Send a ping to an endpoint; a worker delivers it, and `log` says what came back."""
    who = operator(actor, reason)
    sent = _run(
        database,
        lambda store, settings: use_cases.send_ping(store, who, tenant, name, settings.default_tenant),
    )
    _print_sent(name, sent, as_json)


def log(
    name: Name, tenant: Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=KEPT_DELIVERIES, help="How many tries, the newest first.")] = 20,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Show the last tries to reach an endpoint."""
    found, _ = _run(database, lambda store, settings: use_cases.deliveries(store, tenant, name, limit))
    if as_json:
        show_json({"deliveries": [delivery_document(tried) for tried in found]})
    elif found:
        _print_log(found)
    else:
        show("nothing was sent yet")


def redeliver(
    name: Name,
    delivery_id: Annotated[str, typer.Argument(metavar="DELIVERY", help="The id of the delivery, as `log` shows it.")],
    tenant: Tenant = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Deliver once more, with the same body and message id."""
    who = operator(actor, reason)
    sent = _run(database, lambda store, settings: use_cases.redeliver(store, who, tenant, name, delivery_id))
    _print_sent(name, sent, as_json)


def endpoint_document(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint in JSON, without its secrets."""
    return {
        "name": endpoint.name,
        "tenant": endpoint.tenant,
        "url": endpoint.url,
        "events": [event.value for event in endpoint.events],
        "pool": endpoint.pool,
        "enabled": endpoint.enabled,
        "why_disabled": endpoint.why_disabled,
        "secrets": len(endpoint.secrets),
        "created_at": json_moment(endpoint.created_at),
    }


def delivery_document(tried: Delivered) -> dict[str, Any]:
    """A try in JSON."""
    return {
        "delivery": tried.delivery,
        "job": tried.job_id,
        "message": tried.message,
        "event": tried.event,
        "attempt": tried.attempt,
        "status": tried.status,
        "took": tried.took,
        "error": tried.error,
        "at": json_moment(tried.at),
    }


def _run(database: str | None, use_case: Callable[[Store, Settings], Awaitable[Result]]) -> Result:
    settings = settings_for(database)

    async def run() -> Result:
        async with opened(settings) as client:
            return await use_case(client.store, settings)

    return asyncio.run(run())


async def _all(store: Store, tenant: str | None) -> list[Endpoint]:
    found, after = await use_cases.list_endpoints(store, PAGE, tenant=tenant)
    while after is not None:
        page, after = await use_cases.list_endpoints(store, PAGE, after, tenant)
        found += page
    return found


def _change(
    database: str | None,
    as_json: bool,
    name: str,
    tenant: str | None,
    actor: str | None,
    reason: str | None,
    **changes: Any,
) -> None:
    who = operator(actor, reason)
    changed = _run(
        database,
        lambda store, settings: use_cases.change_endpoint(store, who, settings.egress, tenant, name, **changes),
    )
    if as_json:
        show_json(endpoint_document(changed))
    else:
        _print([changed])


def _print_secret(made: MadeSecret, as_json: bool) -> None:
    if as_json:
        show_json({**endpoint_document(made.endpoint), "secret": made.secret})
        return
    typer.echo(made.secret)
    show(f"the secret of {plain(made.endpoint.name)}; keep it now, it cannot be shown again", error=True, wrap=False)


def _print_sent(name: str, sent: Sent, as_json: bool) -> None:
    if as_json:
        show_json({"delivery": sent.job_id, "message": sent.message})
    else:
        show(f"{sent.job_id} waits for a worker; see `fairlead callbacks log {plain(name)}`", wrap=False)


def _print(endpoints: Sequence[Endpoint]) -> None:
    listing = table(name=True, tenant=False, state=True, url=False, events=False, pool=False)
    for endpoint in endpoints:
        state = cell("enabled", "green") if endpoint.enabled else cell(_why(endpoint), "bold red")
        events = ", ".join(event.removeprefix("job.") for event in endpoint.events)
        listing.add_row(
            cell(endpoint.name), cell(endpoint.tenant or "(all)"), state, cell(endpoint.url), cell(events),
            cell(endpoint.pool),
        )  # fmt: skip
    show(listing)


def _why(endpoint: Endpoint) -> str:
    return "disabled" if endpoint.why_disabled is None else f"disabled: {endpoint.why_disabled}"


def _print_log(found: Sequence[Delivered]) -> None:
    listing = table(at=True, delivery=True, event=True, attempt=True, status=True, took=True, job=False, error=False)
    for tried in found:
        ping = tried.event == CallbackEvent.PING
        listing.add_row(
            cell(moment(tried.at)), cell(tried.delivery), cell(tried.event), cell(tried.attempt),
            cell(tried.status or "none", "green" if tried.error is None else "bold red"), cell(f"{tried.took:.2f} s"),
            cell("" if ping else tried.job_id), cell(tried.error),
        )  # fmt: skip
    show(listing)
