"""A store whose time the test moves, and what the services tell."""

from collections.abc import AsyncIterator

import pytest

from fairlead.telemetry.events import Event, Telemetry
from tests.contract.conftest import FILE, MEMORY, POSTGRES, address
from tests.contract.world import World, open_world


@pytest.fixture(params=[pytest.param(MEMORY, id="sqlite-memory"), POSTGRES])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world for each kind of store."""
    async with open_world(address(request)) as opened:
        yield opened


@pytest.fixture(params=[FILE, POSTGRES])
async def shared_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world for each kind of store that several processes can share."""
    async with open_world(address(request)) as opened:
        yield opened


@pytest.fixture
def told() -> list[Event]:
    """The events of `telemetry`, in order."""
    return []


@pytest.fixture
def telemetry(told: list[Event]) -> Telemetry:
    """Keeps what is told."""
    telemetry = Telemetry()
    telemetry.listen(told.append)
    return telemetry
