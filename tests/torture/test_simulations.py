"""Fair share with up to a thousand tenants, in virtual time, with several seeds each."""

import pytest

from fairlead.sim.findings import simulate
from tests.sim.making import backlogged, check

DURATIONS = [0.01, 0.1, 1.0, 10.0, 100.0]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("tenants", "workers"), [(10, 4), (30, 3), (100, 8), (300, 8), (1000, 4)])
def test_tenants_of_mixed_weights_and_durations_get_their_share(tenants: int, workers: int, seed: int) -> None:
    check(simulate(backlogged(tenants, DURATIONS, slots=6 * tenants, workers=workers, seed=seed)))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("tenants", "workers"), [(10, 2), (30, 3), (100, 4), (100, 8), (300, 4), (1000, 4)])
def test_more_tenants_than_slots_get_their_share(tenants: int, workers: int, seed: int) -> None:
    """The window is one in which the least of them is entitled to a hundred jobs."""
    check(simulate(backlogged(tenants, DURATIONS, slots=tenants // 2, workers=workers, seed=seed, window=600)))
