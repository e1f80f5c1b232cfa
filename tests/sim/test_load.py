"""What tenants submit, and how it is divided among the tenants of a group."""

from itertools import pairwise, takewhile
from random import Random
from typing import Any

import pytest

from fairlead.sim.load import arrivals
from fairlead.sim.population import Member, population
from fairlead.sim.scenario import TenantPlan
from tests.sim.making import scenario


def instants(length: float, rate: float, **plan: Any) -> list[float]:
    given = TenantPlan(name="one", rate=rate, **plan)
    return [time for time, _ in takewhile(lambda one: one[0] < length, arrivals(given, rate, 0, Random(1)))]


@pytest.mark.parametrize("pattern", ["poisson", "constant", "bursty"])
def test_the_rate_is_kept(pattern: str) -> None:
    found = instants(6_000.0, 5.0, pattern=pattern)
    assert len(found) == pytest.approx(30_000, rel=0.03)
    assert found == sorted(found)
    assert found[0] >= 0


def test_constant_arrivals_are_evenly_spaced() -> None:
    found = instants(10.0, 4.0, pattern="constant")
    assert {round(later - earlier, 9) for earlier, later in pairwise(found)} == {0.25}


def test_bursts_leave_the_rest_of_their_period_empty() -> None:
    found = instants(600.0, 10.0, pattern="bursty", burst=10, burst_every=60)
    busy = {int(time) for time in found}
    assert len(busy) <= 600 / 10 + 11


def test_begin_and_end() -> None:
    found = instants(1_000.0, 5.0, begin=100, end=200)
    assert min(found) >= 100
    assert max(found) < 200


def test_all_at_once() -> None:
    plan = TenantPlan(name="one", pattern="at-once", jobs=7, begin=3)
    assert list(arrivals(plan, 0.0, 7, Random(1))) == [(3.0, 7)]


def members(tenant: dict[str, Any], pool: dict[str, Any] | None = None) -> list[Member]:
    given = scenario([{"name": "group", "rate": 100, **tenant}], {"a": {"mean": 1}}, 100, pool=pool or {})
    return list(population(given, "p"))


def test_a_skew_of_100x_is_between_the_largest_and_the_smallest() -> None:
    found = members({"count": 20, "skew": "100x"})
    assert found[0].rate / found[-1].rate == pytest.approx(100)
    assert sum(member.rate for member in found) == pytest.approx(100)


def test_zipf_gives_the_second_half_of_what_the_first_has() -> None:
    found = members({"count": 5, "skew": "zipf"})
    assert [round(found[0].rate / member.rate) for member in found] == [1, 2, 3, 4, 5]


def test_weights_are_given_in_turn() -> None:
    found = members({"count": 4, "weight": [1, 7]})
    assert [member.tenant.weight for member in found] == [1, 7, 1, 7]
    assert [member.tenant.name for member in found] == ["group-1", "group-2", "group-3", "group-4"]


def test_a_scaled_pool_gets_its_part_of_the_load() -> None:
    assert members({}, {"scale": 0.1})[0].rate == pytest.approx(10)
