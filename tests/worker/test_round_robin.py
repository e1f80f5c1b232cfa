"""In which order what was claimed ahead starts."""

import pytest

from fairlead.core.jobs.model import Claim, Lane, Lease, Priority
from fairlead.worker.slots import round_robin


def claim(name: str) -> Claim:
    """A job whose tenant is the first letter of its name."""
    lane = Lane("short", name[0], "work", Priority.DEFAULT, 1)
    return Claim(name, lane, "{}", 1, 0, 1, 0.0, 0.0, None, None, None, Lease("w", "l"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ""),
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 a4 b1", "a1 b1 a2 a3 a4"),
        ("a1 a2 b1 c1 c2 a3", "a1 b1 c1 a2 c2 a3"),
    ],
)
def test_tenants_take_turns_and_each_keeps_its_order(given: str, expected: str) -> None:
    assert [item.id for item in round_robin([claim(name) for name in given.split()])] == expected.split()
