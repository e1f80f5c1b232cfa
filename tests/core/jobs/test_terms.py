"""What a type declares comes first; the rest is its pool's."""

import pytest

from fairlead.core.jobs.failure import FailureClass, Policies
from fairlead.core.jobs.pools import Pool, terms_in
from fairlead.core.jobs.retry import Retry

OWN = Policies(Retry.fixed("9s", attempts=4), {FailureClass.DEPENDENCY: Retry(attempts=30)})


@pytest.mark.parametrize(
    ("pool", "usual", "attempts"),
    [
        (Pool("own", attempts=7), True, 7),
        (Pool("own", attempts=7), False, 4),
        (Pool("own"), True, 4),
    ],
)
def test_attempts(pool: Pool, usual: bool, attempts: int) -> None:
    found = terms_in(pool, None, OWN, usual).policies
    assert found.application == Retry.fixed("9s", attempts=attempts)
    assert found.of(FailureClass.DEPENDENCY).attempts == 30


@pytest.mark.parametrize(
    ("pool", "declared", "expected"), [(60.0, None, 60.0), (60.0, 5.0, 5.0), (None, 5.0, 5.0), (None, None, None)]
)
def test_timeout(pool: float | None, declared: float | None, expected: float | None) -> None:
    assert terms_in(Pool("own", timeout=pool), declared, OWN, True).timeout == expected
