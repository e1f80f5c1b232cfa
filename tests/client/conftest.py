"""Stores that several programs share."""

import pytest


@pytest.fixture(params=["sqlite-file", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database that several programs can share."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite-file" else "postgres_url"))
