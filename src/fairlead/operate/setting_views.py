"""What is in force of each kind of setting, by name, with what is shown beside it: use, refusals, waiting jobs."""

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.core.durations import instant
from fairlead.core.fairness.tenancy import ANYONE, Tenants
from fairlead.core.jobs.pools import CHANGEABLE, Pools
from fairlead.core.protection.backpressure import DEPTH, OVERLOAD, POLICY, SUBMISSION
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.gates import PAUSE
from fairlead.errors import NotSet
from fairlead.insight.breakers import breaker
from fairlead.insight.breakers import breakers as breaker_records
from fairlead.insight.protection import budgets as budget_records
from fairlead.insight.protection import limits as limit_records
from fairlead.insight.protection import quarantined, refusals, show_budget, show_limit
from fairlead.insight.tenants import tenant_states
from fairlead.operate.setting_fields import Given
from fairlead.records.store import Store


class View(NamedTuple):
    """What is in force under a name (None: nothing), and what is shown beside it."""

    value: Given | None
    state: Given


Views = Mapping[str, View]


async def limits(store: Store, controls: Controls, name: str | None) -> Views:
    """The limits in force and what runs under each."""
    found = {f"{item.scope}:{item.name}": item for item in await limit_records(store)}
    if name is not None and name not in found:
        try:
            found = {name: await show_limit(store, *name.split(":", 1))}
        except NotSet:
            return {}
    return {
        name: View(
            {"concurrent": item.concurrent, "rate": item.rate, "burst": item.burst},
            {"running": item.running, "tokens": item.tokens, "each": item.each, "set_by": item.set_by},
        )
        for name, item in found.items()
    }


async def depths(store: Store, controls: Controls, name: str | None) -> Views:
    """How many jobs may wait, and how many were refused."""
    return await _rules(store, controls, DEPTH, ("TENANT_QUEUE_FULL",))


async def submissions(store: Store, controls: Controls, name: str | None) -> Views:
    """How fast tenants may submit, and how many jobs were refused."""
    return await _rules(store, controls, SUBMISSION, ("TENANT_RATE_LIMIT_EXCEEDED",))


async def _rules(store: Store, controls: Controls, kind: str, codes: tuple[str, ...]) -> Views:
    """Bounds on submissions, and how many jobs of the tenants under each were refused so far."""
    refused = await refusals(store, controls, kind, codes)
    return {name: View(item.value, {"refused": refused.get(name, 0)}) for name, item in controls.of(kind).items()}


async def overloads(store: Store, controls: Controls, name: str | None) -> Views:
    """The overload policy, and how many jobs it kept out."""
    control, counts = controls.get(OVERLOAD, POLICY), await store.backpressure.admissions()
    if control is None:
        return {}
    kept_out = {
        word: sum(jobs for (_, code), jobs in counts.items() if code == kind)
        for word, kind in (("refused", "OVERLOADED"), ("deferred", "DEFERRED"), ("shed", "SHED"))
    }
    return {POLICY: View(control.value, kept_out)}


async def breakers(store: Store, controls: Controls, name: str | None) -> Views:
    """The breakers, and the runs that they count."""
    found = [await breaker(store, name)] if name is not None else await breaker_records(store)
    state = ("good", "bad", "why", "since", "until", "openings", "by", "types")
    return {item.name: View({"phase": item.phase}, {word: getattr(item, word) for word in state}) for item in found}


async def budgets(store: Store, controls: Controls, name: str | None) -> Views:
    """Retry budgets, and how much of each is used."""
    found = await budget_records(store) if name is None else [await show_budget(store, name)]
    return {
        item.tenant: View(
            {"ratio": item.ratio, "floor": item.floor, "window": item.window, "beyond": item.beyond},
            {
                "first_attempts": item.first_attempts,
                "retries": item.retries,
                "allowed": None if item.ratio is None else item.allowed,
                "used_up": item.used_up,
            },
        )
        for item in found
    }


async def quarantines(store: Store, controls: Controls, name: str | None) -> Views:
    """The types in quarantine, and why."""
    return {
        item.type: View({"attempts": item.attempts}, {"why": item.why, "by": item.by, "since": item.since})
        for item in await quarantined(store)
    }


async def pools(store: Store, controls: Controls, name: str | None) -> Views:
    """The pools."""
    pools = Pools(controls)
    found = {pool.name: pool for pool in [*pools.all(), *([pools.get(name)] if name else [])]}
    return {
        name: View({field: getattr(pool, field) for field in CHANGEABLE}, {"beside_others_only": pool.shared_only})
        for name, pool in found.items()
    }


async def pauses(store: Store, controls: Controls, name: str | None) -> Views:
    """What is paused, why and since when."""
    return {
        name: View({}, {"why": (item.value or {}).get("reason", ""), "since": instant(item.at)})
        for name, item in controls.of(PAUSE).items()
    }


async def tenants(store: Store, controls: Controls, name: str | None) -> Views:
    """The tenants that were set up or have work waiting."""
    found = await tenant_states(store, controls, [] if name in (None, ANYONE) else [str(name)])
    views = {ANYONE: View({"tier": Tenants(controls).get(ANYONE).tier}, {})} if name in (None, ANYONE) else {}
    for state in found:
        standing = state.tenant.weighting
        value = {"tier": state.tenant.tier, "weight": standing.weight, "minimum": standing.minimum}
        views[state.tenant.name] = View(value, {"waiting": state.waiting, "group": state.tenant.group})
    return views
