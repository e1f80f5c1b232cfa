"""The limits of tests/faults/test_limits.py with more jobs and many more kills."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.faults.test_limits import run_with_kills


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def scene(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    """A scene on a SQLite file and on PostgreSQL."""
    url = str(request.getfixturevalue(f"{request.param}_url"))
    async with fairlead.App(url) as app:
        yield Scene(url, tmp_path, app)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
async def test_no_limit_is_exceeded_at_any_instant_while_workers_are_killed(scene: Scene, seed: int) -> None:
    await run_with_kills(scene, Random(seed), jobs=500, kills=15, patience=900.0)
