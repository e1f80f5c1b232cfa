"""Databases for whole programs, which make tables of their own in them."""

import uuid
from pathlib import Path

import pytest

from tests.support.postgres import DatabaseServer


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'example.db'}"
    server: DatabaseServer = request.getfixturevalue("postgres_server")
    return server.create_database(f"fairlead_example_{uuid.uuid4().hex}")
