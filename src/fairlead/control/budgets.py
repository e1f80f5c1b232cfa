"""Retry budgets for operators: who has used up what, and budgets for single tenants."""

from dataclasses import dataclass

from fairlead.control.audit import Operator
from fairlead.core.budget import KIND, RetryBudget, allowed
from fairlead.core.controls import Change, Controls
from fairlead.core.durations import seconds
from fairlead.core.health import TENANT, Sums
from fairlead.core.names import check_name
from fairlead.ports.store import CONTROLS_HINT, Store


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

    @property
    def used_up(self) -> bool:
        """Whether further retries are refused, or delayed."""
        return self.retries >= self.allowed


async def budgets(store: Store) -> list[BudgetStatus]:
    """The tenants that had retries lately, and those with a budget of their own."""
    controls = Controls()
    controls.follow((await store.controls()).controls)
    counts = (await store.health_counts()).sums
    sums = {name.partition(":")[2]: value for name, value in counts.items() if name.startswith(f"{TENANT}:")}
    usual = await _declared(store)
    own = {name: RetryBudget(**control.value) for name, control in controls.of(KIND).items() if control.value}
    return [
        _status(tenant, own.get(tenant, usual), sums.get(tenant, Sums()), tenant in own)
        for tenant in sorted(sums.keys() | own.keys())
    ]


async def set_budget(store: Store, tenant: str, policy: RetryBudget, operator: Operator) -> None:
    """Give a tenant a budget of its own; one without a ratio lets all its retries go."""
    name = check_name("tenant", tenant)
    note = operator.note("set retry budget", f"tenant {name}", **policy.stored())
    await store.change_controls([Change(KIND, name, policy.stored())], note)
    await store.wake([CONTROLS_HINT])


async def reset_budget(store: Store, tenant: str, operator: Operator) -> None:
    """Let the application's budget be in force again."""
    name = check_name("tenant", tenant)
    await store.change_controls([Change(KIND, name, None)], operator.note("reset retry budget", f"tenant {name}"))
    await store.wake([CONTROLS_HINT])


async def _declared(store: Store) -> RetryBudget:
    """The application's budget, as its types were registered with it."""
    found = [item.settings["retry_budget"] for item in await store.job_types() if "retry_budget" in item.settings]
    return RetryBudget(**found[0]) if found else RetryBudget()


def _status(tenant: str, policy: RetryBudget, sums: Sums, own: bool) -> BudgetStatus:
    return BudgetStatus(
        tenant,
        sums.good,
        sums.bad,
        allowed(policy, sums),
        policy.ratio,
        policy.floor,
        seconds(policy.window),
        policy.beyond,
        own,
    )
