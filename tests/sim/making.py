"""Scenarios for tests, made of a few words."""

from typing import Any

from fairlead.sim.findings import Findings, TenantFinding, simulate
from fairlead.sim.scenario import Scenario, make_scenario

TOLERANCE = 0.05


def scenario(tenants: list[dict[str, Any]], types: dict[str, Any], slots: int = 10, **more: Any) -> Scenario:
    """One pool with these tenants and job types; a type is its duration, or all of its settings."""
    pool = {"slots": slots, "estimate": 1, **more.pop("pool", {})}
    plans = {name: given if "duration" in given else {"duration": given} for name, given in types.items()}
    return make_scenario(
        {
            "pools": {"p": pool},
            "types": {name: {"pool": "p", **plan} for name, plan in plans.items()},
            "tenants": tenants,
            **more,
        }
    )


def run(*arguments: Any, **more: Any) -> Findings:
    """Simulate such a scenario."""
    return simulate(scenario(*arguments, **more))


def tenant(findings: Findings, name: str) -> TenantFinding:
    """What a tenant got."""
    return next(one for one in findings.pools[0].tenants if one.name == name)


def check(findings: Findings) -> None:
    """Everybody got its share within 5 %, and nobody was too small to be judged."""
    pool = findings.pools[0]
    assert len(pool.judged) == len(pool.tenants)
    assert findings.worst_share_error < TOLERANCE, pool.judged[0]
    assert findings.jain >= 0.99
    assert pool.busy > 0.9


def delivered(findings: Findings, tier: str) -> float:
    """The part of all slot-seconds that a tier got."""
    tenants = findings.pools[0].tenants
    return sum(one.delivered for one in tenants if one.tier == tier) / sum(one.delivered for one in tenants)


def worst_windows(findings: Findings, takes: dict[str, float], seconds: int = 10) -> dict[str, tuple[float, float]]:
    """The least and the most that each tenant got of its due in any window; the pool's steps are seconds.

    Only tenants count that are due at least one of their jobs in a window.
    """
    pool = findings.pools[0]
    history = [[step.get(number, 0.0) for number in range(len(pool.tenants))] for step in pool.ledger.history]
    windows = [
        [sum(got) for got in zip(*history[start : start + seconds], strict=True)]
        for start in range(len(history) - seconds + 1)
    ]
    weights = sum(one.weight for one in pool.tenants)
    found = {}
    for number, one in enumerate(pool.tenants):
        due = [sum(window) * one.weight / weights for window in windows]
        if min(due) >= takes[one.name]:
            ratios = [window[number] / entitled for window, entitled in zip(windows, due, strict=True)]
            found[one.name] = (min(ratios), max(ratios))
    return found


def backlogged(
    tenants: int, durations: list[float], slots: int, workers: int, seed: int = 1, window: int = 100
) -> Scenario:
    """Tenants of mixed weights that always have work, one of each duration, all others of the longest.

    The shorter its jobs, the less weight a tenant has, which keeps their number small. It is measured for `window`
    times the longest mean, and workers tell and claim in proportion to it: what they know of each other is as old, in
    jobs, as it would be with short ones. They seldom look which lanes have work, since all have, always.
    """
    longest = max(durations)
    plans = [
        {"name": f"d{number}", "pattern": "backlog", "types": [f"t{number}"], "weight": 0.02 * 5**number}
        for number in range(len(durations))
    ]
    plans[-1] |= {"count": tenants - len(durations) + 1, "weight": [1, 2, 3, 5]}
    pool = {
        "workers": workers,
        "view": longest,
        "settle": longest / 40,
        "tell": longest / 40,
        "claim_gap": min(durations) / 20,
    }
    return scenario(
        plans,
        {f"t{number}": {"kind": "lognormal", "mean": mean, "sigma": 0.5} for number, mean in enumerate(durations)},
        slots,
        pool=pool,
        length=(20 + window) * longest,
        warm_up=20 * longest,
        seed=seed,
    )
