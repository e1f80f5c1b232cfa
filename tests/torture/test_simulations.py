"""Fair share with up to a thousand tenants, in virtual time."""

import pytest

from fairlead.sim.findings import simulate
from tests.sim.making import backlogged, check


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("tenants", "workers"), [(10, 4), (100, 8), (300, 8), (1000, 4)])
def test_tenants_of_mixed_weights_and_durations_get_their_share(tenants: int, workers: int) -> None:
    check(simulate(backlogged(tenants, [0.01, 0.1, 1.0, 10.0, 100.0], slots=6 * tenants, workers=workers)))
