"""What protects the system, as it is set and used: limits, bounds on submission, retry budgets, quarantines, pauses."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.core.durations import instant, seconds
from fairlead.core.fairness.tenancy import Tenants
from fairlead.core.jobs.job_records import JobType
from fairlead.core.names import check_name
from fairlead.core.protection.backpressure import (
    DEPTH,
    EACH,
    OVERLOAD,
    SUBMISSION,
    Overload,
    Policy,
    depths,
    rate_limits,
    refuse_by_depth,
)
from fairlead.core.protection.controls import ABSENT, Control, Controls
from fairlead.core.protection.gates import PAUSE
from fairlead.core.protection.limits import LIMIT, Bound, Rules, limit_name, stored_bound, usage
from fairlead.core.protection.quarantine import KIND as QUARANTINE
from fairlead.core.protection.quarantine import attempts_of
from fairlead.core.protection.retry_budget import KIND as BUDGET
from fairlead.core.protection.retry_budget import RetryBudget, allowed
from fairlead.core.protection.run_counts import TENANT, Sums
from fairlead.core.protection.token_bucket import left
from fairlead.core.stored import restored
from fairlead.errors import NotSet
from fairlead.records.limits import Holder, LimitUse
from fairlead.records.store import Store
from fairlead.runtime.control_changes import read_controls, version_of

MOST_HOLDERS = 100


class LimitInForce(NamedTuple):
    """A limit, who set it, and its use now; `tokens` are what is left of its rate, `each` is one for each of a kind.

    `version` is that of what an operator set under exactly this name, 0 where nobody did.
    """

    scope: str
    name: str
    concurrent: int | None
    rate: float | None
    burst: float | None
    set_by: str
    running: int
    tokens: float | None
    each: bool
    version: int = 0


async def limits(store: Store) -> list[LimitInForce]:
    """All limits in force: those that are set or declared, and each key and each one of a kind that is in use."""
    controls, types, use = await read_controls(store), await store.types.all(), await store.limits.use()
    rules = Rules(declared(types), {}, controls)
    used = usage(rules, use.running.items())
    names = {f"limit:{name}" for name in declared(types)} | controls.of(LIMIT).keys()
    names |= used.keys() | {name for name in use.buckets if rules.bound(name) != Bound()}
    return [_in_force(name, rules, used, use, controls) for name in sorted(names)]


async def show_limit(store: Store, scope: str, name: str) -> LimitInForce:
    """One limit that is set, declared, or follows from one for each of its kind; NotSet if nothing is limited."""
    controls, types, use = await read_controls(store), await store.types.all(), await store.limits.use()
    rules, full = Rules(declared(types), {}, controls), limit_name(scope, name)
    if rules.bound(full) == Bound() and controls.get(LIMIT, full) is None:
        raise NotSet(f"nothing limits {scope} {name}; `fairlead settings list limit` shows what is in force")
    return _in_force(full, rules, usage(rules, use.running.items()), use, controls)


async def limit_holders(store: Store, scope: str, name: str, most: int = MOST_HOLDERS) -> list[Holder]:
    """Jobs that run under a limit, those that run longest first."""
    controls, types, use = await read_controls(store), await store.types.all(), await store.limits.use()
    rules, full = Rules(declared(types), {}, controls), limit_name(scope, name)
    return await store.limits.holders([lane for lane in use.running if full in rules.of(lane)], most)


def _in_force(name: str, rules: Rules, used: dict[str, int], use: LimitUse, controls: Controls) -> LimitInForce:
    scope, _, what = name.partition(":")
    allowed, way = rules.bound(name), rules.bound(name).rate_limit
    running = used.get(name, 0)
    each = what == "*" or (scope == "limit" and any(other.startswith(f"{name}=") for other in used))
    return LimitInForce(
        scope=scope,
        name=what,
        concurrent=allowed.concurrent,
        rate=way.rate if way else None,
        burst=way.burst if way else None,
        set_by="operator" if _is_set(name, controls) else "handler",
        running=running,
        tokens=left(use.buckets.get(name), way, use.now) if way and not each else None,
        each=each,
        version=version_of(controls, LIMIT, name),
    )


def _is_set(name: str, controls: Controls) -> bool:
    scope, _, what = name.partition(":")
    candidates: Iterable[str] = (name, f"{scope}:{what.partition('=')[0]}", f"{scope}:*")
    return any(controls.get(LIMIT, candidate) for candidate in candidates)


def declared(types: Iterable[JobType]) -> dict[str, Bound]:
    """What handlers declare, by the name of the limit."""
    found: dict[str, Bound] = {}
    for job_type in types:
        for limit in job_type.settings.get("limits") or []:
            found[limit["name"]] = stored_bound(limit)
    return found


class Bounds(NamedTuple):
    """What is set, by name (`tenant:acme`, `tier:free`, `tenant:*`), and what was not accepted, by tenant and code.

    `versions` are those of what is set, by kind and name.
    """

    depths: Mapping[str, int]
    rates: Mapping[str, tuple[float, float]]
    overload: Overload | None
    counts: Mapping[tuple[str, str], int]
    versions: Mapping[tuple[str, str], int]


async def require_room(store: Store, tenant: str) -> None:
    """TenantQueueFull where a tenant may not have one more waiting job; for jobs that no client submits."""
    most = Policy(await read_controls(store)).depth(tenant)
    waiting = await store.backpressure.waiting_of(tenant, most + 1)
    if waiting >= most:
        raise refuse_by_depth(tenant, most, waiting, 1)


async def bounds(store: Store) -> Bounds:
    """All that is set, and what it has refused, put off and shed."""
    controls = await read_controls(store)
    rates = {name: (way.rate, way.burst) for name, way in rate_limits(controls).items()}
    kinds = (DEPTH, SUBMISSION, OVERLOAD)
    versions = {(kind, name): item.version for kind in kinds for name, item in controls.of(kind).items()}
    return Bounds(depths(controls), rates, Policy(controls).overload, await store.backpressure.admissions(), versions)


async def refusals(store: Store, controls: Controls, kind: str, codes: Collection[str]) -> dict[str, int]:
    """How many jobs were refused with these codes so far, by the narrowest rule of this kind for their tenants."""
    rules, tenants, found = controls.of(kind), Tenants(controls), dict[str, int]()
    for (tenant, code), jobs in (await store.backpressure.admissions()).items():
        names = (f"tenant:{tenant}", f"tier:{tenants.get(tenant).tier}", f"tenant:{EACH}")
        rule = next((name for name in names if name in rules), None)
        if code in codes and rule is not None:
            found[rule] = found.get(rule, 0) + jobs
    return found


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
        for tenant in sorted(sums.keys() | controls.of(BUDGET).keys())
    ]


async def show_budget(store: Store, tenant: str) -> BudgetStatus:
    """The budget of one tenant, and how much of it is used."""
    name, sums = check_name("tenant", tenant), await _sums(store)
    return _status(name, await read_controls(store), await _declared(store), sums.get(name, Sums()))


async def budget_of(store: Store, controls: Controls, tenant: str) -> RetryBudget:
    """The budget in force for a tenant."""
    control = controls.get(BUDGET, tenant)
    return restored(RetryBudget, control.value) if control and control.value else await _declared(store)


async def _sums(store: Store) -> dict[str, Sums]:
    counts = (await store.run_counts.read()).sums
    return {name.partition(":")[2]: value for name, value in counts.items() if name.startswith(f"{TENANT}:")}


async def _declared(store: Store) -> RetryBudget:
    """The application's budget, as its types were registered with it."""
    found = [item.settings["retry_budget"] for item in await store.types.all() if "retry_budget" in item.settings]
    return restored(RetryBudget, found[0]) if found else RetryBudget()


def _status(tenant: str, controls: Controls, usual: RetryBudget, sums: Sums) -> BudgetStatus:
    control = controls.get(BUDGET, tenant)
    policy = restored(RetryBudget, control.value) if control and control.value else usual
    return BudgetStatus(
        tenant, sums.good, sums.bad, allowed(policy, sums), policy.ratio, policy.floor, seconds(policy.window),
        policy.beyond, control is not None, version_of(controls, BUDGET, tenant),
    )  # fmt: skip


class Quarantined(NamedTuple):
    """A type whose jobs have so many attempts, with 0 none starts; `by` is None where it came to that by itself."""

    type: str
    why: str
    by: str | None
    since: datetime | None
    attempts: int


async def quarantined(store: Store) -> list[Quarantined]:
    """All types in quarantine."""
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    found = [_quarantined(control) for control in controls.of(QUARANTINE).values() if control.value is not None]
    return sorted(found, key=lambda item: item.type)


def _quarantined(control: Control) -> Quarantined:
    value = control.value or {}
    return Quarantined(
        control.name, value.get("why", ""), value.get("by"), instant(control.at), attempts_of(control) or 0
    )


class Paused(NamedTuple):
    """A type, tenant or pool of which nothing starts."""

    scope: str
    name: str
    reason: str
    since: datetime


async def paused(store: Store) -> list[Paused]:
    """What is paused now."""
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    found = []
    for control in controls.of(PAUSE).values():
        scope, _, name = control.name.partition(":")
        found.append(Paused(scope, name, (control.value or {}).get("reason", ""), _moment(control.at)))
    return sorted(found)


def _moment(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, UTC)
