"""What fair share promises, in simulations that run the real decisions of core."""

import pytest

from fairlead.sim.engine import Engine
from fairlead.sim.findings import simulate
from tests.sim.making import TOLERANCE, backlogged, check, delivered, run, scenario, tenant

pytestmark = pytest.mark.timeout(600)

SECOND = {"kind": "exponential", "mean": "1s"}


@pytest.mark.parametrize("workers", [1, 3])
def test_three_tenants_with_jobs_over_four_orders_of_magnitude(workers: int) -> None:
    check(simulate(backlogged(3, [0.01, 1.0, 100.0], slots=9, workers=workers)))


def test_thirty_tenants() -> None:
    check(simulate(backlogged(30, [0.01, 0.1, 1.0, 10.0, 100.0], slots=90, workers=3)))


def test_four_times_as_many_tenants_as_slots() -> None:
    """The window is one in which the least of them is entitled to a hundred jobs."""
    check(simulate(backlogged(40, [0.1, 1.0, 10.0], slots=10, workers=2, window=1200)))


def _steady_wait(noisy_jobs: int) -> float:
    tenants = [{"name": "steady", "rate": 20}, {"name": "others", "count": 8, "rate": 400}]
    noisy = [{"name": "noisy", "pattern": "at-once", "jobs": noisy_jobs, "begin": 15}] if noisy_jobs else []
    found = run([*tenants, *noisy], {"a": {"mean": "200ms"}}, 200, length=40, warm_up=10, pool={"workers": 4})
    waits = tenant(found, "steady").waits
    assert waits is not None
    return waits.p99


def test_a_million_jobs_at_once_do_not_delay_a_steady_tenant() -> None:
    quiet, noisy = _steady_wait(0), _steady_wait(1_000_000)
    assert noisy <= quiet * 1.1 + 0.2


def test_low_priority_is_served_under_high_load_without_end() -> None:
    """High priority alone fills the slots; a job of low priority waits two steps of ageing longer, not for ever."""
    types = {
        "high": {"duration": {"mean": 1}, "priority": "high", "part": 12},
        "low": {"duration": {"mean": 1}, "priority": "low", "part": 1},
    }
    engine = Engine(scenario([{"name": "one", "rate": 13}], types, 10, length=1500, warm_up=500), "p")
    engine.run()
    high, low = engine.own_queues[0]
    assert len(low) > 0
    assert abs(low.times[0] - high.times[0]) == pytest.approx(120.0, abs=10.0)


def test_an_idle_tenant_has_neither_credit_nor_penalty() -> None:
    """From its first job on a late tenant has half of the slots: no more for its absence, and no less."""
    tenants = [{"name": "busy", "pattern": "backlog"}, {"name": "late", "pattern": "backlog", "begin": 300}]
    found = run(tenants, {"a": {"mean": "1s"}}, 10, length=400, warm_up=300, pool={"workers": 2, "steps": 20})
    busy, late = found.pools[0].tenants
    assert late.delivered == pytest.approx(busy.delivered, rel=0.03)
    for step in found.pools[0].ledger.history[1:]:
        assert step[1] == pytest.approx(step[0], rel=0.25)


def test_a_tenant_that_comes_and_goes_owes_nothing_for_slots_nobody_wanted() -> None:
    """Alone it used all slots; when another one comes, both have half from then on."""
    tenants = [
        {"name": "first", "pattern": "backlog", "end": 200},
        {"name": "second", "pattern": "backlog", "begin": 100},
    ]
    found = run(tenants, {"a": {"mean": "1s"}}, 10, length=200, warm_up=100)
    assert found.worst_share_error < TOLERANCE
    assert tenant(found, "first").delivered == pytest.approx(tenant(found, "second").delivered, rel=0.03)


def test_all_free_tenants_together_have_at_most_a_twentieth() -> None:
    tenants = [
        {"name": "free", "tier": "free", "count": 200, "pattern": "backlog"},
        {"name": "one", "weight": 0.1, "pattern": "backlog"},
    ]
    found = run(tenants, {"a": {"mean": "1s"}}, 100, length=250, warm_up=50, pool={"workers": 2})
    assert delivered(found, "free") == pytest.approx(0.05, abs=0.005)
    assert found.pools[0].busy > 0.95


def test_free_tenants_may_have_what_nobody_else_wants() -> None:
    tenants = [{"name": "free", "tier": "free", "count": 20, "pattern": "backlog"}]
    found = run(tenants, {"a": SECOND}, 20, length=120, warm_up=20)
    assert found.pools[0].busy > 0.95


def test_pro_tenants_have_at_least_a_hundredth_each() -> None:
    tenants = [
        {"name": "pro", "tier": "pro", "count": 2, "pattern": "backlog"},
        {"name": "enterprise", "tier": "enterprise", "count": 50, "pattern": "backlog"},
    ]
    found = run(tenants, {"a": {"mean": "1s"}}, 200, length=150, warm_up=50, pool={"workers": 2})
    assert delivered(found, "pro") == pytest.approx(0.02, rel=TOLERANCE)
    assert found.worst_share_error < TOLERANCE


def test_wrong_estimates_are_corrected() -> None:
    """The first guess is far too long, and single jobs take a thousand times as long as others of their type."""
    types = {"a": {"kind": "lognormal", "mean": "1s", "sigma": 2.5}}
    tenants = [{"name": name, "pattern": "backlog"} for name in ("one", "two", "three")]
    found = run(tenants, types, 30, length=1200, warm_up=200, pool={"estimate": 60, "workers": 3})
    check(found)
