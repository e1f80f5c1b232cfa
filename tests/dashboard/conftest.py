"""The API that serves the page."""

from collections.abc import AsyncIterator

import pytest

from tests.api.conftest import MEMORY, Api, open_api


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """The API on a store in memory."""
    async with open_api(MEMORY) as made:
        yield made
