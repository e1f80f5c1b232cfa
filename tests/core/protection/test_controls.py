"""Controls as a reader follows them, and the gates they close."""

import pytest

from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.protection.controls import ABSENT, ANY, Change, Control, Controls, holds
from fairlead.core.protection.gates import pause_name, why_closed
from fairlead.errors import ConfigError

LANE = Lane("short", "acme", "send", Priority.DEFAULT, 1)


def controls_of(*controls: Control) -> Controls:
    """A reader that knows these."""
    known = Controls()
    known.follow(controls)
    return known


def test_a_reader_knows_the_newest_value_and_the_newest_version() -> None:
    known = controls_of(Control("pool", "a", {"x": 1}, 4, 0.0), Control("pool", "a", {"x": 2}, 7, 0.0))
    control = known.get("pool", "a")
    assert control is not None
    assert (control.value, known.version) == ({"x": 2}, 7)


def test_a_removed_control_is_gone_and_its_version_counts() -> None:
    known = controls_of(Control("pool", "a", {"x": 1}, 4, 0.0))
    assert known.follow([Control("pool", "a", None, 5, 0.0)]) == {"pool"}
    assert (known.get("pool", "a"), dict(known.of("pool")), known.version) == (None, {}, 5)


@pytest.mark.parametrize(
    ("seen", "current", "expected"),
    [
        (ANY, None, True),
        (ANY, Control("k", "n", {}, 3, 0.0), True),
        (ABSENT, None, True),
        (ABSENT, Control("k", "n", None, 3, 0.0), True),
        (ABSENT, Control("k", "n", {}, 3, 0.0), False),
        (3, Control("k", "n", {}, 3, 0.0), True),
        (2, Control("k", "n", {}, 3, 0.0), False),
        (3, Control("k", "n", None, 3, 0.0), False),
    ],
)
def test_a_change_holds_upon_what_it_was_decided(seen: int, current: Control | None, expected: bool) -> None:
    assert holds(Change("k", "n", {}, seen), current) is expected


@pytest.mark.parametrize(
    ("scope", "name", "closed"),
    [
        ("type", "send", True),
        ("tenant", "acme", True),
        ("pool", "short", True),
        ("type", "acme", False),
        ("pool", "long", False),
    ],
)
def test_a_pause_closes_the_lanes_of_its_scope(scope: str, name: str, closed: bool) -> None:
    known = controls_of(Control("pause", pause_name(scope, name), {"reason": "a flood"}, 1, 0.0))
    expected = f"{scope} {name} is paused: a flood" if closed else None
    assert why_closed(LANE, known) == expected


def test_other_things_cannot_be_paused() -> None:
    with pytest.raises(ConfigError, match="must be one of type, tenant, pool"):
        pause_name("worker", "x")
