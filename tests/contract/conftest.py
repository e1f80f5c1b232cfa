"""The fixtures of the contract suite."""

from collections.abc import AsyncIterator

import pytest

from fairlead.records.store import Store
from tests.contract.world import World, open_world

MEMORY = "sqlite:///:memory:"
POSTGRES = pytest.param("postgres_database", marks=pytest.mark.postgres, id="postgres")
FILE = pytest.param("sqlite_url", id="sqlite-file")


def address(request: pytest.FixtureRequest) -> str:
    """The database that a parameter names; a world empties PostgreSQL's itself, faster than `postgres_url` does."""
    return MEMORY if request.param == MEMORY else str(request.getfixturevalue(request.param))


@pytest.fixture(params=[FILE, pytest.param(MEMORY, id="sqlite-memory"), POSTGRES])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world for each kind of store."""
    async with open_world(address(request)) as opened:
        yield opened


@pytest.fixture
def store(world: World) -> Store:
    """The store of the world."""
    return world.store


@pytest.fixture(params=[FILE, POSTGRES])
async def shared_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world for each kind of store that several processes can share."""
    async with open_world(address(request)) as opened:
        yield opened


@pytest.fixture(params=[POSTGRES])
async def postgres_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world on PostgreSQL."""
    async with open_world(address(request)) as opened:
        yield opened
