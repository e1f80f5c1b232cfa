"""What each tenant is entitled to."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.core.fairness.entitlement import Bounds, effective_weights, entitled, fill, jain
from fairlead.core.fairness.tenancy import MOST_GUARANTEED, Tenant, Weighting

amounts = st.floats(0, 1000)
bounds = st.builds(
    lambda weight, low, more: Bounds(weight, low, low + more), st.floats(0.01, 1000), st.floats(0, 10), amounts
)
tenants = st.builds(
    Tenant,
    st.uuids().map(str),
    st.sampled_from(["free", "standard", "pro", "enterprise"]),
    st.none() | st.floats(0.1, 100),
)
demands = st.lists(st.tuples(tenants, amounts), min_size=1, max_size=12)


@given(parties=st.lists(bounds, min_size=1, max_size=12), extra=st.floats(0, 5000))
@example(parties=[Bounds(1.0, 0.0, 1.0), Bounds(2.0, 0.0, 5e-324)], extra=1.0)  # full at the level at which it begins
def test_filling_uses_everything_within_the_bounds(parties: list[Bounds], extra: float) -> None:
    capacity = sum(party.low for party in parties) + extra
    parts, _ = fill(capacity, parties)
    most = sum(party.high for party in parties)
    assert sum(parts) == pytest.approx(min(capacity, most), abs=1e-6)
    for part, party in zip(parts, parties, strict=True):
        assert party.low - 1e-9 <= part <= party.high + 1e-9


@given(parties=st.lists(bounds, min_size=2, max_size=12), extra=st.floats(0, 5000))
def test_those_between_their_bounds_are_level(parties: list[Bounds], extra: float) -> None:
    parts, level = fill(sum(party.low for party in parties) + extra, parties)
    for part, party in zip(parts, parties, strict=True):
        if party.low < part < party.high:
            assert part / party.weight == pytest.approx(level)


@given(capacity=st.floats(1, 1000), wanted=demands)
def test_nobody_gets_more_than_it_wants_and_nothing_is_left_while_somebody_wants(
    capacity: float, wanted: list[tuple[Tenant, float]]
) -> None:
    known = {tenant.name: tenant for tenant, _ in wanted}
    demand = {tenant.name: amount for tenant, amount in wanted}
    result = entitled(capacity, demand, known)
    assert result.keys() == demand.keys()
    assert sum(result.values()) == pytest.approx(min(capacity, sum(demand.values())), abs=1e-6)
    assert all(result[name] <= demand[name] + 1e-9 for name in demand)


@given(wanted=demands)
def test_pro_gets_its_minimum_or_all_it_wants(wanted: list[tuple[Tenant, float]]) -> None:
    known = {tenant.name: tenant for tenant, _ in wanted}
    demand = {tenant.name: amount for tenant, amount in wanted}
    result = entitled(100.0, demand, known)
    for name, tenant in known.items():
        assert result[name] >= min(demand[name], tenant.weighting.minimum * 100.0) - 1e-9


def test_the_free_tier_is_one_party_with_a_cap() -> None:
    known = {"a": Tenant("a", weight=10.0), "f": Tenant("f", "free"), "g": Tenant("g", "free")}
    result = entitled(1000.0, dict.fromkeys(known, 1000.0), known)
    assert result == pytest.approx({"a": 950.0, "f": 25.0, "g": 25.0})


def test_the_free_tier_gets_what_nobody_else_wants() -> None:
    known = {"f": Tenant("f", "free"), "g": Tenant("g", "free"), "a": Tenant("a")}
    assert entitled(100.0, {"f": 90.0, "g": 3.0, "a": 10.0}, known) == pytest.approx({"f": 87.0, "g": 3.0, "a": 10.0})


def test_unknown_tenants_are_of_the_default_tier() -> None:
    assert entitled(30.0, {"a": 100.0, "b": 100.0}, {"b": Tenant("b", weight=20.0)}) == pytest.approx(
        {"a": 10.0, "b": 20.0}
    )


def test_minimums_that_do_not_fit_shrink_and_leave_something() -> None:
    known = {f"p{index}": Tenant(f"p{index}", weight=1.0, minimum=0.1) for index in range(20)}
    known["s"] = Tenant("s", weight=1.0)
    result = entitled(100.0, dict.fromkeys(known, 100.0), known)
    assert result["p0"] == pytest.approx(100 / 21)
    known["huge"] = Tenant("huge", weight=1e6)
    result = entitled(100.0, dict.fromkeys(known, 100.0), known)
    assert result["p0"] == pytest.approx(100 * MOST_GUARANTEED / 20)
    assert result["huge"] == pytest.approx(100 * (1 - MOST_GUARANTEED), rel=1e-3)


@given(
    st.dictionaries(
        st.builds(Weighting, st.floats(0.1, 1000), st.sampled_from([0.0, 0.01]), st.sampled_from([1.0, 0.05])),
        st.integers(1, 50),
        min_size=1,
        max_size=6,
    )
)
def test_effective_weights_give_the_entitled_parts(counts: dict[Weighting, int]) -> None:
    weights = effective_weights(counts)
    total = sum(weights[weighting] * count for weighting, count in counts.items())
    for weighting, count in counts.items():
        part = weights[weighting] / total
        guaranteed = weighting.minimum * min(
            1.0, MOST_GUARANTEED / sum(s.minimum * n for s, n in counts.items()) if weighting.minimum else 1.0
        )
        assert part >= guaranteed - 1e-9
        others = sum(n for s, n in counts.items() if s.most >= 1)
        if weighting.most < 1 and others:
            assert part <= weighting.most + 1e-9, count


def test_without_minimums_and_caps_weights_stay_what_they_are() -> None:
    assert effective_weights({Weighting(3.0): 5, Weighting(7.0): 1}) == {Weighting(3.0): 3.0, Weighting(7.0): 7.0}


def test_a_standing_that_nothing_binds_keeps_its_weight() -> None:
    weights = effective_weights({Weighting(100.0, 0.01): 1, Weighting(10.0): 10_000, Weighting(1.0, 0.0, 0.05): 1})
    assert weights[Weighting(10.0)] == pytest.approx(10.0)
    assert weights[Weighting(1.0, 0.0, 0.05)] == pytest.approx(1.0)
    assert weights[Weighting(100.0, 0.01)] == pytest.approx(100_001 / 99, rel=1e-6)


def test_jains_index() -> None:
    assert jain([1.0, 1.0, 1.0]) == 1.0
    assert jain([1.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([]) == 1.0
