"""Fair share with many tenants and long enough to be strict."""

import pytest

from fairlead.core.fairness.tenancy import Tenant
from tests.support.contest import LENGTHS, Contest


@pytest.mark.postgres
@pytest.mark.timeout(1800)
async def test_thirty_tenants_of_mixed_weights_and_lengths_get_their_shares(postgres_url: str) -> None:
    entrants = [
        (Tenant(f"t{index}", weight=(1.0, 2.0, 5.0)[index // 3 % 3]), LENGTHS[index % 3]) for index in range(27)
    ]
    entrants += [(Tenant("pro", "pro", weight=1.0), 0.2), *((Tenant(f"f{i}", "free"), 0.02) for i in range(2))]
    contest = Contest(postgres_url, entrants, workers=3, slots=40)
    await contest.run(slot_seconds=200 * 120.0)
    print({name: round(ratio, 3) for name, ratio in contest.ratios.items()}, contest.jain)
    assert contest.jain >= 0.99
    assert max(abs(ratio - 1) for ratio in contest.ratios.values()) < 0.05
