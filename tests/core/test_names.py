"""Names, priorities and lanes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.names import check_name
from fairlead.errors import ConfigError


@pytest.mark.parametrize("name", ["a", "_x", "0", "mail.send", "acme:eu-1", "user@host", "x" * 200])
def test_good_names_pass(name: str) -> None:
    assert check_name("pool", name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "-a", ".a", "@scheduled", "a\n", "a\x00", "é", "x" * 201, "a%", "a'", None, 5, b"a"]
)
def test_bad_names_are_refused_with_their_kind(name: Any) -> None:
    with pytest.raises(ConfigError, match="name of a tenant"):
        check_name("tenant", name)


@pytest.mark.parametrize(
    ("value", "expected"), [("high", Priority.HIGH), ("LOW", Priority.LOW), (0, Priority.CRITICAL)]
)
def test_priorities_are_known_by_name_and_number(value: Any, expected: Priority) -> None:
    assert Priority.parse(value) is expected


@pytest.mark.parametrize("value", ["urgent", "", 9, -1, None])
def test_other_priorities_are_refused_with_the_list(value: Any) -> None:
    with pytest.raises(ConfigError, match="critical, high, default, low"):
        Priority.parse(value)


names = st.text(max_size=5)
lanes = st.builds(Lane, names, names, names, st.sampled_from(Priority), st.integers(1, 5))


@given(lanes, lanes)
def test_lanes_have_the_same_number_exactly_if_they_are_equal(first: Lane, second: Lane) -> None:
    if "\x00" not in "".join((*first[:3], *second[:3])):
        assert (first.id == second.id) == (first == second)
    assert 0 <= first.id < 2**63


def test_the_number_of_a_lane_never_changes() -> None:
    """Databases keep it."""
    assert Lane("default", "acme", "mail", Priority.DEFAULT, 1).id == NUMBER


NUMBER = 6727700680348792456
