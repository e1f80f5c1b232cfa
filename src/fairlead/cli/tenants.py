"""`fairlead tenants`: who shares the workers, and whether each gets what it is due."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from fairlead.cli.loading import on_store
from fairlead.cli.options import Database, Json, duration, group
from fairlead.cli.output import listing, plain, show, show_document
from fairlead.core.fairness.ledger import LedgerRow
from fairlead.insight import tenants
from fairlead.insight.tenants import TenantBounds, TenantState
from fairlead.records.store import Store

app = group("Look at tenants and their shares; `fairlead settings set tenant` sets them up.")

Name = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant.")]
Window = Annotated[float, duration("How far to look back, such as 15m or 1d.")]
OnlyPool = Annotated[str | None, typer.Option("--pool", help="Only this pool.")]
OnlyTenants = Annotated[list[str] | None, typer.Option("--tenant", help="Only this tenant; may be repeated.")]


@app.command("list")
def list_tenants(database: Database = None, as_json: Json = False) -> None:
    """List the tenants that were set up or have work waiting."""
    found = on_store(database, tenants.list_tenants)
    if as_json:
        from fairlead.documents.tenants import TenantDocument, TenantList

        show_document(TenantList(tenants=[TenantDocument.of(state) for state in found]))
        return
    listing(
        found,
        {
            "tenant": lambda item: item.tenant.name,
            "tier": lambda item: item.tenant.tier,
            "weight": lambda item: f"{item.tenant.weighting.weight:g}",
            "minimum": lambda item: f"{item.tenant.weighting.minimum:.1%}" if item.tenant.weighting.minimum else None,
            "waiting": lambda item: item.waiting,
            "set up": lambda item: item.since,
        },
        none="no tenant was set up, and none has work waiting",
    )


@app.command("show")
def show_tenant(name: Name, window: Window = 900.0, database: Database = None, as_json: Json = False) -> None:
    """Show a tenant, the bounds in force for it, and what it was due and got minute by minute."""

    async def read(store: Store) -> tuple[TenantState, list[LedgerRow], TenantBounds]:
        state, lines = await tenants.show_tenant(store, name, window)
        return state, lines, await tenants.tenant_bounds(store, name)

    state, lines, bounds = on_store(database, read)
    if as_json:
        from fairlead.documents.tenants import TenantDetail

        show_document(TenantDetail.of(state, bounds=bounds, lines=lines))
        return
    own = state.tenant.weighting
    guaranteed = f", at least {own.minimum:.1%} of a pool" if own.minimum else ""
    together = ", shared with all tenants of its tier" if state.tenant.group else ""
    show(f"{plain(name)}: {plain(state.tenant.tier)}, weight {own.weight:g}{guaranteed}{together}")
    show(f"waiting: {state.waiting}" + ("" if bounds.depth is None else f" of at most {bounds.depth}"))
    if lines:
        _print_lines(lines)


@app.command()
def shares(
    window: Window = 900.0, pool: OnlyPool = None, tenant: OnlyTenants = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Show what tenants were due and got, in slot-seconds, and how fair that was."""
    found = on_store(database, lambda store: tenants.read_shares(store, window, pool, tenant or ()))
    if as_json:
        from fairlead.documents.tenants import LedgerLine, ShareReport

        show_document(ShareReport(window=window, jain=found.jain, shares=[LedgerLine.of(line) for line in found.lines]))
    elif not found.lines:
        show("nothing ran or waited in this window")
    else:
        _print_lines(found.lines)
        show(f"Jain's index of delivered over entitled: {found.jain:.4f}")


def _print_lines(lines: Sequence[LedgerRow]) -> None:
    minute = {"minute": lambda line: f"{datetime.fromtimestamp(line.minute, UTC):%Y-%m-%d %H:%M}"}
    listing(
        lines,
        {
            **(minute if lines[0].minute is not None else {}),
            "pool": lambda line: line.pool,
            "tenant": lambda line: line.tenant,
            "entitled": lambda line: f"{line.entitled:.1f}",
            "delivered": lambda line: f"{line.delivered:.1f}",
            "ratio": lambda line: None if line.ratio is None else f"{line.ratio:.3f}",
            "reserved": lambda line: f"{line.reserved:.1f}",
            "waiting": lambda line: line.waiting,
        },
        none="",
    )
