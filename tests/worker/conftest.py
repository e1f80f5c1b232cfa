"""Fixtures for tests of workers."""

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store of each kind that several workers can share."""
    return str(request.getfixturevalue(f"{request.param}_url"))
