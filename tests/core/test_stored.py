"""What a newer version has written."""

from typing import Any

import pytest

from fairlead.core.breaker import Breaker
from fairlead.core.budget import RetryBudget
from fairlead.core.quarantine import Quarantine
from fairlead.core.retry import Retry
from fairlead.core.stored import restored


@pytest.mark.parametrize("policy", [Retry(attempts=7), RetryBudget(floor=7), Breaker(minimum=7), Quarantine()])
def test_a_policy_comes_back_also_with_fields_of_a_newer_version(policy: Any) -> None:
    assert restored(type(policy), policy.stored()) == policy
    assert restored(type(policy), {**policy.stored(), "from_the_future": 1}) == policy


def test_a_value_that_is_not_known_gives_the_usual_policy() -> None:
    assert restored(Retry, {"attempts": 7, "backoff": "fibonacci"}) == Retry()
    assert restored(RetryBudget, {"floor": None}) == RetryBudget()
