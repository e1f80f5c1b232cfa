"""When a worker is worn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.workers import is_worn


@pytest.mark.parametrize(
    ("slots", "least"), [(1, 1), (2, 2), (4, 4), (5, 4), (12, 4), (15, 4), (16, 5), (50, 13), (100, 26)]
)
def test_more_than_a_quarter_and_at_least_four_or_all(slots: int, least: int) -> None:
    assert [lost for lost in range(slots + 1) if is_worn(lost, slots)] == list(range(least, slots + 1))


@given(slots=st.integers(1, 10_000))
def test_a_worker_that_lost_nothing_is_not_worn_and_one_that_lost_everything_is(slots: int) -> None:
    assert not is_worn(0, slots)
    assert is_worn(slots, slots)
