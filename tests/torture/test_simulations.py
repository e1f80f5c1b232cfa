"""Fair share with up to a thousand tenants, in virtual time."""

import pytest

from fairlead.sim.findings import simulate
from tests.sim.making import backlogged, check

DURATIONS = [0.01, 0.1, 1.0, 10.0, 100.0]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("tenants", "workers"), [(10, 4), (100, 8), (300, 8), (1000, 4)])
def test_tenants_of_mixed_weights_and_durations_get_their_share(tenants: int, workers: int) -> None:
    check(simulate(backlogged(tenants, DURATIONS, slots=6 * tenants, workers=workers)))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("tenants", [300, 1000])
def test_more_tenants_than_slots_get_their_share(tenants: int) -> None:
    """The window is one in which the least of them is entitled to a hundred jobs."""
    check(simulate(backlogged(tenants, DURATIONS, slots=tenants // 2, workers=4, window=600)))
