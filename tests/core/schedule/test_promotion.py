"""How much is promoted, and whose."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.protection.token_bucket import Bucket
from fairlead.core.schedule.promotion import DueLane, share_out, spend, tokens

NOW = 1000.0


def lane(tenant: str, kind: str = "mail", jobs: int = 1, since: float = 0.0) -> DueLane:
    return DueLane(Lane("short", tenant, kind, Priority.DEFAULT, 1), jobs, since)


def parts(lanes: list[DueLane], most: int, tenants: dict[str, int]) -> dict[tuple[str, str], int]:
    names = {item.lane.id: (item.lane.tenant, item.lane.type) for item in lanes}
    return {names[quota.lane]: quota.most for quota in share_out(lanes, most, tenants)}


def test_a_bucket_that_nobody_used_is_full() -> None:
    assert tokens(None, 50, NOW) == 50


def test_tokens_come_back_at_the_rate_and_no_more_than_fit() -> None:
    empty = spend(None, 50, NOW, 50)
    assert [tokens(empty, 50, NOW + seconds) for seconds in (0, 0.25, 0.5, 1, 9)] == [0, 12.5, 25, 50, 50]


def test_a_clock_that_goes_back_gives_nothing() -> None:
    assert tokens(Bucket(3, NOW), 50, NOW - 10) == 3


def test_a_bucket_may_owe() -> None:
    assert tokens(spend(None, 40, NOW, 60), 40, NOW + 0.25) == -10


def test_over_any_time_no_more_than_a_burst_and_the_rate_is_spent() -> None:
    bucket, spent = None, 0
    for step in range(1000):
        now = NOW + step * 0.01
        count = int(tokens(bucket, 200, now))
        bucket, spent = spend(bucket, 200, now, count), spent + count
    assert 200 + 9.9 * 200 - 2 <= spent <= 200 + 10 * 200


def test_what_fits_is_promoted_whole() -> None:
    lanes = [lane("a", jobs=3), lane("b", jobs=5)]
    assert parts(lanes, 100, {"a": 10, "b": 10}) == {("a", "mail"): 3, ("b", "mail"): 5}


def test_a_herd_gets_no_more_than_its_tenant_may_have() -> None:
    lanes = [lane("herd", jobs=1_000_000), lane("small", jobs=2, since=5)]
    assert parts(lanes, 1000, {"herd": 250, "small": 100}) == {("herd", "mail"): 250, ("small", "mail"): 2}


def test_the_shard_is_shared_evenly_and_what_one_does_not_need_goes_to_others() -> None:
    lanes = [lane("a", jobs=1000), lane("b", jobs=1000), lane("c", jobs=10)]
    assert parts(lanes, 110, dict.fromkeys("abc", 1000)) == {("a", "mail"): 50, ("b", "mail"): 50, ("c", "mail"): 10}


def test_a_tenants_part_is_shared_between_its_lanes() -> None:
    lanes = [lane("a", "bulk", 1000), lane("a", "urgent", 3, since=9)]
    assert parts(lanes, 100, {"a": 50}) == {("a", "bulk"): 47, ("a", "urgent"): 3}


def test_where_there_is_less_than_one_each_the_longest_overdue_come_first() -> None:
    lanes = [lane(name, since=since) for name, since in (("a", 3.0), ("b", 1.0), ("c", 2.0))]
    assert parts(lanes, 2, dict.fromkeys("abc", 10)) == {("b", "mail"): 1, ("c", "mail"): 1}


def test_an_empty_bucket_gives_nothing() -> None:
    assert parts([lane("a", jobs=9)], 100, {"a": 0}) == {}
    assert parts([lane("a", jobs=9)], -4, {"a": 5}) == {}
    assert parts([lane("a", jobs=9)], 100, {"a": -5}) == {}


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["x", "y", "z"]), st.integers(1, 50)), max_size=12),
    st.integers(0, 100),
    st.fixed_dictionaries({name: st.integers(-3, 40) for name in "abcd"}),
)
def test_no_bound_is_passed_and_nothing_is_left_that_would_fit(
    found: list[tuple[str, str, int]], most: int, tenants: dict[str, int]
) -> None:
    lanes = list({item[:2]: lane(item[0], item[1], item[2]) for item in found}.values())
    given_out = parts(lanes, most, tenants)
    by_tenant = {name: sum(count for key, count in given_out.items() if key[0] == name) for name in "abcd"}
    wanted = {name: sum(item.jobs for item in lanes if item.lane.tenant == name) for name in "abcd"}
    assert all(given_out.get((item.lane.tenant, item.lane.type), 0) <= item.jobs for item in lanes)
    assert all(by_tenant[name] <= max(0, tenants[name]) for name in "abcd")
    assert sum(by_tenant.values()) == min(most, sum(max(0, min(wanted[name], tenants[name])) for name in "abcd"))
