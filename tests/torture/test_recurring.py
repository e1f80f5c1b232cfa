"""The storm over schedulers, for long."""

import pytest

from tests.support.storm import storm


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("url", ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
async def test_a_long_storm_doubles_nothing_and_misses_nothing(
    url: str, seed: int, request: pytest.FixtureRequest
) -> None:
    fires = await storm(str(request.getfixturevalue(url)), disturbances=800, schedules=5, seed=seed)
    print(f"{url} {seed}: {fires} fires")
    assert fires > 10_000
