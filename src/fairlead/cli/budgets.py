"""`fairlead budgets`: list, set, reset."""

from dataclasses import asdict
from typing import Annotated, cast

import typer

from fairlead.cli.breakers import on_store
from fairlead.cli.enqueue import parse_duration
from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json
from fairlead.cli.output import cell, plain, show, show_json, table
from fairlead.core.durations import humanize
from fairlead.core.protection import retry_budget as budget
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.operate import retry_budgets
from fairlead.operate.retry_budgets import BudgetStatus

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant.")]
Ratio = Annotated[float | None, typer.Option(min=0, help="Retries for each first attempt; without it, no limit.")]
Floor = Annotated[int, typer.Option(min=1, help="Retries that every window has beside these.")]
Beyond = Annotated[str, typer.Option(help="What becomes of retries beyond it: dead (letters), or delay.")]
Window = Annotated[float, typer.Option(parser=parse_duration, metavar="DURATION", help="The time they are counted in.")]


def list_budgets(database: Database = None, as_json: Json = False) -> None:
    """List the tenants that had retries lately, how many they may have, and who has used them up."""
    found = on_store(database, retry_budgets.budgets)
    if as_json:
        show_json({"budgets": [_document(item) for item in found]})
    elif not found:
        show("no tenant had retries lately, and none has a budget of its own")
    else:
        _print_list(found)


def set_budget(
    tenant: Tenant, ratio: Ratio = None, floor: Floor = 100, window: Window = 60.0, beyond: Beyond = "dead",
    reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Give a tenant a retry budget of its own; without --ratio its retries are not limited."""
    policy, who = RetryBudget(ratio, floor, window, cast(budget.Beyond, beyond)), operator(actor, reason)
    on_store(database, lambda store: retry_budgets.set_budget(store, tenant, policy, who))
    if as_json:
        show_json({"tenant": tenant, **policy.stored()})
    else:
        show(f"retries of {plain(tenant)}: {_words(policy.ratio, policy.floor, window)}")


def reset_budget(
    tenant: Tenant, reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False
) -> None:
    """Let the application's retry budget be in force for a tenant again."""
    who = operator(actor, reason)
    on_store(database, lambda store: retry_budgets.reset_budget(store, tenant, who))
    if as_json:
        show_json({"tenant": tenant, "own": False})
    else:
        show(f"{plain(tenant)} has the application's retry budget")


def _print_list(found: list[BudgetStatus]) -> None:
    listing = table(tenant=True, first_attempts=True, retries=True, budget=True, used_up=True)
    for item in found:
        listing.add_row(
            cell(item.tenant), cell(item.first_attempts), cell(item.retries),
            cell(_words(item.ratio, item.floor, item.window) + (" (its own)" if item.own else "")),
            cell("yes", "bold red") if item.used_up else cell("no"),
        )  # fmt: skip
    show(listing)


def _words(ratio: float | None, floor: int, window: float) -> str:
    return "no limit" if ratio is None else f"{ratio:g} a first attempt and {floor} more within {humanize(window)}"


def _document(item: BudgetStatus) -> dict[str, object]:
    allowed = None if item.ratio is None else item.allowed
    return {**asdict(item), "allowed": allowed, "used_up": item.used_up}
