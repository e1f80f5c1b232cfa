"""The words of Fairlead as data."""

import pytest

from fairlead.core.jobs import model
from fairlead.core.jobs.model import Lane, Priority


def test_a_lane_finds_its_id_once(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter((7, 8))
    monkeypatch.setattr(model, "_lane_id", lambda lane: next(numbers))
    lane = Lane("short", "acme", "mail", Priority.DEFAULT, 1)
    assert (lane.id, lane.id) == (7, 7)


def test_lanes_that_are_alike_are_equal_whether_or_not_their_ids_were_asked_for() -> None:
    asked, other = (Lane("short", "acme", "mail", Priority.DEFAULT, 1) for _ in range(2))
    assert asked.id == asked._replace(limits="").id
    assert asked == other
    assert hash(asked) == hash(other)
    assert asked._replace(tenant="globex").id != asked.id
