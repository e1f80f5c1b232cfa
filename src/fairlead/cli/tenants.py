"""`fairlead tenants`: tiers and weights; `fairlead shares`: entitled against delivered."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer

from fairlead.cli.enqueue import parse_duration
from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, moment, plain, show, show_json, table
from fairlead.core.fairness.ledger import LedgerRow
from fairlead.core.fairness.tenancy import Tenant
from fairlead.operate import tenants
from fairlead.records.store import Store

Value = TypeVar("Value")

Name = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant.")]
Tier = Annotated[str | None, typer.Option(help="free, standard, pro or enterprise.")]
Weight = Annotated[float | None, typer.Option(min=0.0, help="A weight of its own instead of its tier's.")]
Minimum = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="A part of each pool that it is guaranteed, such as 0.05.")
]
Window = Annotated[
    float, typer.Option(parser=parse_duration, metavar="DURATION", help="How far to look back, such as 15m or 1d.")
]


def list_tenants(database: Database = None, as_json: Json = False) -> None:
    """List the tenants that were set up or have work waiting."""
    found = _with_store(database, tenants.list_tenants)
    if as_json:
        show_json({"tenants": [_state_document(state) for state in found]})
    elif not found:
        show("no tenant was set up, and none has work waiting")
    else:
        listing = table(tenant=True, tier=True, weight=True, minimum=True, waiting=True, set_up=False)
        for state in found:
            own = state.tenant.weighting
            listing.add_row(
                cell(state.tenant.name), cell(state.tenant.tier), cell(f"{own.weight:g}"),
                cell(f"{own.minimum:.1%}" if own.minimum else ""), cell(state.waiting), cell(moment(state.since)),
            )  # fmt: skip
        show(listing)


def add_tenant(
    name: Name, tier: Tier = None, weight: Weight = None, minimum: Minimum = None, reason: Reason = None,
    actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Set up a tenant; one that is not set up has the default tier."""
    who = operator(actor, reason)
    chosen: dict[str, Any] = {} if tier is None else {"tier": tier}
    made = _with_store(
        database, lambda store: tenants.add_tenant(store, name, who, **chosen, weight=weight, minimum=minimum)
    )
    _print_tenant(made, as_json)


def set_tenant(
    name: Name, tier: Tier = None, weight: Weight = None, minimum: Minimum = None,
    plain_tier: Annotated[bool, typer.Option("--plain", help="Drop a weight and minimum of its own first.")] = False,
    reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Change a tenant's tier, weight or minimum; all workers follow within a second."""
    if tier is None and weight is None and minimum is None and not plain_tier:
        raise typer.BadParameter("say what to set: --tier, --weight, --minimum or --plain")
    who = operator(actor, reason)
    made = _with_store(
        database,
        lambda store: tenants.set_tenant(store, name, who, tier, weight, minimum, own=not plain_tier),
    )
    _print_tenant(made, as_json)


def remove_tenant(
    name: Name, reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False
) -> None:
    """Forget what was set for a tenant; its jobs stay, and it has the default tier again."""
    who = operator(actor, reason)
    _with_store(database, lambda store: tenants.remove_tenant(store, name, who))
    show_json({"tenant": name, "set_up": False}) if as_json else show(f"{plain(name)} is not set up any more")


def default_tier(
    tier: Annotated[str, typer.Argument(metavar="TIER", help="free, standard, pro or enterprise.")],
    reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Set the tier of tenants that nobody has set up."""
    who = operator(actor, reason)
    _with_store(database, lambda store: tenants.set_default_tier(store, tier, who))
    show_json({"default_tier": tier}) if as_json else show(f"tenants that nobody has set up are {plain(tier)} now")


def show_tenant(name: Name, window: Window = 900.0, database: Database = None, as_json: Json = False) -> None:
    """Show a tenant, and what it was entitled to and got minute by minute."""
    state, lines = _with_store(database, lambda store: tenants.show_tenant(store, name, window))
    if as_json:
        show_json({**_state_document(state), "ledger": [_line_document(line) for line in lines]})
        return
    _print_tenant(state.tenant, as_json=False)
    show(f"waiting: {state.waiting}")
    if lines:
        _print_lines(lines)


def shares(
    window: Window = 900.0,
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    tenant: Annotated[list[str] | None, typer.Option(help="Only this tenant; may be repeated.")] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Show what tenants were entitled to and what they got, in slot-seconds, and how fair that was."""
    found = _with_store(database, lambda store: tenants.read_shares(store, window, pool, tenant or ()))
    if as_json:
        show_json(
            {"window": window, "jain": found.jain, "shares": [_line_document(line) for line in found.lines]}
        )  # fmt: skip
    elif not found.lines:
        show("nothing ran or waited in this window")
    else:
        _print_lines(found.lines)
        show(f"Jain's index of delivered over entitled: {found.jain:.4f}")


def _with_store(database: str | None, act: Callable[[Store], Awaitable[Value]]) -> Value:
    async def run() -> Value:
        async with opened(settings_for(database)) as client:
            return await act(client.store)

    return asyncio.run(run())


def _print_tenant(tenant: Tenant, as_json: bool) -> None:
    if as_json:
        show_json(_tenant_document(tenant))
        return
    own = tenant.weighting
    guaranteed = f", at least {own.minimum:.1%} of a pool" if own.minimum else ""
    together = ", shared with all tenants of its tier" if tenant.group else ""
    show(f"{plain(tenant.name)}: {plain(tenant.tier)}, weight {own.weight:g}{guaranteed}{together}")


def _print_lines(lines: Sequence[LedgerRow]) -> None:
    listing = table(
        **({"minute": True} if lines[0].minute is not None else {}), pool=True, tenant=True, entitled=True,
        delivered=True, ratio=True, reserved=True, waiting=True,
    )  # fmt: skip
    for line in lines:
        minute = [] if line.minute is None else [cell(f"{datetime.fromtimestamp(line.minute, UTC):%Y-%m-%d %H:%M}")]
        listing.add_row(
            *minute, cell(line.pool), cell(line.tenant), cell(f"{line.entitled:.1f}"), cell(f"{line.delivered:.1f}"),
            cell("" if line.ratio is None else f"{line.ratio:.3f}"), cell(f"{line.reserved:.1f}"), cell(line.waiting),
        )  # fmt: skip
    show(listing)


def _tenant_document(tenant: Tenant) -> dict[str, Any]:
    own = tenant.weighting
    return {"tenant": tenant.name, "tier": tenant.tier, "weight": own.weight, "minimum": own.minimum}


def _state_document(state: tenants.TenantState) -> dict[str, Any]:
    return {
        **_tenant_document(state.tenant),
        "set_up": state.is_set_up,
        "since": json_moment(state.since),
        "waiting": state.waiting,
    }


def _line_document(line: LedgerRow) -> dict[str, Any]:
    document = {**line._asdict(), "ratio": line.ratio}
    minute = document.pop("minute")
    return document if minute is None else {"minute": json_moment(datetime.fromtimestamp(minute, UTC)), **document}
