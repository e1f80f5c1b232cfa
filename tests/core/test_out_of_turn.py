"""How free slots are divided without asking whose turn it is."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.queue import out_of_turn
from fairlead.core.jobs.model import ActiveLane, Lane, Priority


def lanes_of(tenants: str) -> list[ActiveLane]:
    return [ActiveLane(Lane("default", tenant, "mail", Priority.DEFAULT, 1), 0.0) for tenant in tenants]


def one_second(pool: str, job_type: str) -> float:
    return 1.0


@given(st.sampled_from(["", "a", "abc", "abcdefgh"]), st.integers(1, 40), st.integers(-3, 40))
def test_nobody_gets_more_than_there_is(tenants: str, free: int, room: int) -> None:
    grants = out_of_turn(lanes_of(tenants), free, one_second, {"default": room})
    assert all(grant.most > 0 for grant in grants)
    assert sum(grant.most for grant in grants) <= max(0, min(free, room))
    assert bool(grants) == bool(tenants and room > 0)


def test_all_lanes_get_as_much_and_the_last_ones_where_slots_are_few() -> None:
    assert [grant.most for grant in out_of_turn(lanes_of("abc"), 10, one_second, {})] == [3, 3, 3]
    assert [grant.lane.tenant for grant in out_of_turn(lanes_of("abc"), 2, one_second, {})] == ["b", "c"]
