"""A file with a store, for the tests of how SQLite keeps jobs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.records.store import Store
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    await migrate(f"sqlite:///{path}")
    opened = make_store(f"sqlite:///{path}")
    await opened.open()
    yield opened
    await opened.close()
