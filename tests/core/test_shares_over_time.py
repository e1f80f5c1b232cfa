"""Fairness as a tenant feels it: slot-seconds over time, in a plant that runs the real queue in virtual time."""

from itertools import repeat
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.fairness.entitlement import entitled, jain
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.jobs.model import Priority
from tests.core.plant import Plant, Source

LENGTHS = (0.1, 1.0, 10.0, 100.0)


def shares(plant: Plant, until: float) -> dict[str, float]:
    """Delivered over entitled of each tenant, all of them having work all the time."""
    delivered = plant.run(until)
    total = plant.slots * (until - plant.measure_from)
    tenants = {source.tenant.name: source.tenant for source in plant.sources}
    due = entitled(total, dict.fromkeys(tenants, total), tenants)
    return {name: delivered[name] / due[name] for name in tenants}


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.sampled_from([1.0, 2.0, 5.0]), st.sampled_from([0.3, 1.0, 5.0])), min_size=3, max_size=8),
    st.integers(4, 20),
)
def test_everybody_gets_its_share_of_time_whatever_its_jobs_take(kinds: list[tuple[float, float]], slots: int) -> None:
    sources = [Source(Tenant(f"t{index}", weight=w), repeat(length)) for index, (w, length) in enumerate(kinds)]
    plant = Plant(slots, sources)
    ratios = shares(plant, until=100 * max(length for _, length in kinds))
    smallest = min(w for w, _ in kinds) / sum(w for w, _ in kinds) * slots
    jobs_of_the_smallest = 100 * smallest  # at least so many jobs fit into its share of the time
    for name, ratio in ratios.items():
        assert abs(ratio - 1) <= 0.05 + 2 / jobs_of_the_smallest, name
    assert plant.idle_while_waiting == 0


def test_jobs_of_a_hundred_seconds_beside_jobs_of_a_tenth() -> None:
    random = Random(7)
    sources = [
        Source(Tenant(f"t{index}", weight=random.choice([1.0, 3.0, 10.0])), repeat(LENGTHS[index % 4]))
        for index in range(40)
    ]
    plant = Plant(80, sources, settle_every=1.0, measure_from=100.0)
    ratios = shares(plant, until=1000.0)
    assert jain(list(ratios.values())) >= 0.99
    assert plant.idle_while_waiting == 0


def test_a_flood_does_not_delay_a_steady_tenant() -> None:
    flood = Source(Tenant("flood"), repeat(0.5), jobs=100_000)
    steady = Source(Tenant("steady"), repeat(0.5), begin=30.0, jobs=10)
    plant = Plant(10, [flood, steady])
    delivered = plant.run(until=32.0)
    assert delivered["steady"] == pytest.approx(5.0)


def test_who_was_away_is_not_repaid_and_not_punished() -> None:
    always = Source(Tenant("always"), repeat(1.0))
    later = Source(Tenant("later"), repeat(1.0), begin=500.0)
    plant = Plant(10, [always, later], measure_from=510.0)
    delivered = plant.run(until=610.0)
    assert delivered["later"] == pytest.approx(500.0, rel=0.05)
    assert delivered["always"] == pytest.approx(500.0, rel=0.05)


def test_low_priority_is_served_under_permanent_high_load() -> None:
    tenant = Tenant("acme")
    high = Source(tenant, repeat(1.0), priority=Priority.HIGH)
    low = Source(tenant, repeat(1.0), priority=Priority.LOW, jobs=10)
    plant = Plant(5, [high, low], always_new={high.lane.id})
    plant.run(until=100.0)
    assert plant.started[low.lane.id] == 0
    plant.run(until=150.0)
    assert plant.started[low.lane.id] == 10
