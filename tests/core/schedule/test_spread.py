"""Far schedules are spread; near ones, and those that would become too late, are not."""

from random import Random

import pytest

from fairlead.core.schedule.timing import FAR, MOST, spread


def test_a_far_schedule_is_moved_by_up_to_a_minute_either_way() -> None:
    rng = Random(1)
    moved = [spread(7200.0, None, rng) - 7200 for _ in range(2000)]
    assert -MOST <= min(moved) < -50
    assert 50 < max(moved) <= MOST
    assert abs(sum(moved) / len(moved)) < 5


@pytest.mark.parametrize("wait", [0.0, 1.0, 60.0, FAR])
def test_a_near_schedule_is_kept(wait: float) -> None:
    assert spread(wait, None, Random(1)) == wait


def test_no_schedule_is_moved_past_its_latest_start_nor_before_now() -> None:
    rng = Random(1)
    moved = [spread(FAR + 1, FAR + 11, rng) for _ in range(1000)]
    assert 0 < min(moved) < max(moved) <= FAR + 11
    assert FAR + 1 in moved, "where it would pass the latest start it stays where it was"


def test_one_that_is_too_late_anyway_is_left_alone() -> None:
    assert spread(7200.0, 100.0, Random(1)) == 7200.0


def test_the_same_random_numbers_give_the_same_schedule() -> None:
    assert spread(9000.0, None, Random(7)) == spread(9000.0, None, Random(7))
