"""Retry budgets: how many retries a window has, and where those beyond go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.protection.retry_budget import RetryBudget, allowed, stretch
from fairlead.core.protection.run_counts import Sums
from fairlead.errors import ConfigError

BUDGET = RetryBudget(ratio=2.0, floor=10, window="60s")


def test_retries_go_at_once_while_the_budget_lasts() -> None:
    assert allowed(BUDGET, Sums(100, 0)) == 210
    assert stretch(BUDGET, Sums(100, 209)) == 0
    assert stretch(BUDGET, Sums(100, 210)) == 60


def test_a_small_tenant_can_retry() -> None:
    assert stretch(BUDGET, Sums(0, 9)) == 0


def test_without_a_ratio_nothing_is_delayed() -> None:
    assert stretch(RetryBudget(ratio=None), Sums(0, 10**9)) == 0


@given(ratio=st.floats(0, 5), floor=st.integers(1, 50), first_attempts=st.integers(0, 50), retries=st.integers(1, 600))
def test_a_flood_of_retries_leaves_at_the_pace_of_the_budget(
    ratio: float, floor: int, first_attempts: int, retries: int
) -> None:
    """All come at one instant; afterwards no window has more of them than the budget allows, and none is lost."""
    budget = RetryBudget(ratio=ratio, floor=floor, window="60s")
    due = [stretch(budget, Sums(first_attempts, placed)) for placed in range(retries)]
    most = allowed(budget, Sums(first_attempts, 0))
    assert due == sorted(due)
    for begin in due:
        assert sum(begin <= moment < begin + 59.999 for moment in due) <= most + 1


@pytest.mark.parametrize("wrong", [{"ratio": -1}, {"floor": 0}, {"window": 0}, {"ratio": float("inf")}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        RetryBudget(**wrong)  # type: ignore[arg-type]
