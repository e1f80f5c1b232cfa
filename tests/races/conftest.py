"""Stores that share one database."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from fairlead import wiring
from fairlead.records.store import Store

OpenStore = Callable[[], Awaitable[Store]]


@pytest.fixture(params=["sqlite-file", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database that several processes can share."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite-file" else "postgres_url"))


@pytest.fixture
async def open_store(shared_url: str) -> AsyncIterator[OpenStore]:
    """Opens stores on it, each with connections of its own."""
    stores: list[Store] = []

    async def open_one() -> Store:
        store = wiring.make_store(shared_url)
        await store.open()
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        await store.close()
