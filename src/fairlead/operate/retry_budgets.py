"""Retry budgets for operators: who has used up what, and budgets for single tenants."""

from dataclasses import dataclass

from fairlead.core.durations import seconds
from fairlead.core.names import check_name
from fairlead.core.protection.controls import ABSENT, Controls
from fairlead.core.protection.retry_budget import KIND, RetryBudget, allowed
from fairlead.core.protection.run_counts import TENANT, Sums
from fairlead.core.stored import restored
from fairlead.operate.controls import read_controls, version_of
from fairlead.records.store import Store


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """A tenant's first attempts and retries of its window, those to come included, and how many the budget allows."""

    tenant: str
    first_attempts: int
    retries: int
    allowed: float
    ratio: float | None
    floor: int
    window: float
    beyond: str
    own: bool  # set for this tenant, not by the application
    version: int = ABSENT  # of what was set for this tenant

    @property
    def used_up(self) -> bool:
        """Whether further retries are refused, or delayed."""
        return self.retries >= self.allowed


async def budgets(store: Store) -> list[BudgetStatus]:
    """The tenants that had retries lately, and those with a budget of their own."""
    controls, sums = await read_controls(store), await _sums(store)
    usual = await _declared(store)
    return [
        _status(tenant, controls, usual, sums.get(tenant, Sums()))
        for tenant in sorted(sums.keys() | controls.of(KIND).keys())
    ]


async def show_budget(store: Store, tenant: str) -> BudgetStatus:
    """The budget of one tenant, and how much of it is used."""
    name, sums = check_name("tenant", tenant), await _sums(store)
    return _status(name, await read_controls(store), await _declared(store), sums.get(name, Sums()))


async def budget_of(store: Store, controls: Controls, tenant: str) -> RetryBudget:
    """The budget in force for a tenant."""
    control = controls.get(KIND, tenant)
    return restored(RetryBudget, control.value) if control and control.value else await _declared(store)


async def _sums(store: Store) -> dict[str, Sums]:
    counts = (await store.run_counts.read()).sums
    return {name.partition(":")[2]: value for name, value in counts.items() if name.startswith(f"{TENANT}:")}


async def _declared(store: Store) -> RetryBudget:
    """The application's budget, as its types were registered with it."""
    found = [item.settings["retry_budget"] for item in await store.types.all() if "retry_budget" in item.settings]
    return restored(RetryBudget, found[0]) if found else RetryBudget()


def _status(tenant: str, controls: Controls, usual: RetryBudget, sums: Sums) -> BudgetStatus:
    control = controls.get(KIND, tenant)
    policy = restored(RetryBudget, control.value) if control and control.value else usual
    return BudgetStatus(
        tenant, sums.good, sums.bad, allowed(policy, sums), policy.ratio, policy.floor, seconds(policy.window),
        policy.beyond, control is not None, version_of(controls, KIND, tenant),
    )  # fmt: skip
