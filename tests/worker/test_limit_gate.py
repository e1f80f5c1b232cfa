"""What one worker remembers of full limits: when it tries again, and whom it tells."""

import pytest

from fairlead.core.jobs.model import ActiveLane, Claim, Ending, Hold, Lane, Lease, Priority, Quota, Settlement
from fairlead.core.jobs.states import State
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.limits import LIMIT
from fairlead.records.limits import LimitedClaims
from fairlead.worker import limits
from fairlead.worker.limits import FIRST_PAUSE, LONGEST_PAUSE, SWEEP, TOKEN_PAUSE, LimitGate
from tests.support.clock import Clock

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)
FREE = LANE._replace(type="free")
NAME = "type:mail"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that the test moves."""
    made = Clock()
    monkeypatch.setattr(limits, "time", made)
    return made


@pytest.fixture
def gate(clock: Clock) -> LimitGate:
    """A gate with a limit on the type `mail`."""
    made = LimitGate({})
    controls = Controls()
    controls.follow([Control(LIMIT, NAME, {"concurrent": 5}, 1, 0.0)])
    made.follow(controls)
    return made


def refuse(gate: LimitGate, again_in: float | None = None, claims: list[Claim] | None = None) -> None:
    """Try, and find the limit full."""
    _, wanted = gate.split([Quota(LANE.id, 9, 1.0)], lambda _: LANE)
    gate.learn(wanted, LimitedClaims(claims or [], {NAME: again_in}))


def claim(job_id: str) -> Claim:
    """A job in this worker's hands."""
    return Claim(job_id, LANE, "{}", 1, 0, 1, 0.0, 0.0, None, None, None, Lease("w", "t"))


def settled(job_id: str) -> Settlement:
    """Its end."""
    return Settlement(job_id, Hold(State.RUNNING, 1), State.SUCCEEDED, 1, 0, Ending.SUCCEEDED)


def test_lanes_without_limits_pass(gate: LimitGate) -> None:
    plain, wanted = gate.split([Quota(FREE.id, 1), Quota(LANE.id, 2)], {FREE.id: FREE, LANE.id: LANE}.__getitem__)
    assert [quota.lane for quota in plain] == [FREE.id]
    assert [(item.lane, item.limits) for item in wanted] == [(LANE, (NAME,))]


def test_a_full_limit_keeps_its_lanes_aside_until_the_sweep(gate: LimitGate, clock: Clock) -> None:
    refuse(gate)
    active = [ActiveLane(LANE, 0.0), ActiveLane(FREE, 0.0)]
    assert gate.admit(active).keys() == {FREE.id}
    assert not gate.is_open(LANE)
    assert gate.patience() == pytest.approx(SWEEP)
    assert gate.reopened() == {}
    clock.now += SWEEP
    assert gate.reopened() == {LANE.id: ActiveLane(LANE, 0.0)}
    assert gate.reopened() == {}


def test_a_hint_is_followed_at_once_and_more_slowly_when_it_was_in_vain(gate: LimitGate, clock: Clock) -> None:
    pause = FIRST_PAUSE
    for _ in range(10):
        refuse(gate)
        assert gate.hint()
        clock.now += pause * 0.9
        assert gate.reopened() == {}
        clock.now += pause * 0.2
        assert gate.reopened().keys() == {LANE.id}
        pause = min(pause * 2, LONGEST_PAUSE)
    refuse(gate, claims=[claim("1")])
    gate.hint()
    clock.now += FIRST_PAUSE * 1.1
    assert gate.reopened().keys() == {LANE.id}, "what was granted shows that hints are worth it"


def test_a_job_that_ends_here_makes_room_here_at_once_and_nobody_is_told(gate: LimitGate) -> None:
    refuse(gate, claims=[claim("1")])
    assert gate.freed([settled("other")]) == (False, False)
    assert gate.freed([settled("1")]) == (True, False)
    assert gate.reopened().keys() == {LANE.id}
    assert gate.freed([settled("1")]) == (False, False)


def test_a_job_that_ends_where_no_lane_waits_is_told_to_others(gate: LimitGate) -> None:
    _, wanted = gate.split([Quota(LANE.id, 1, 1.0)], lambda _: LANE)
    gate.learn(wanted, LimitedClaims([claim("1")], {}))
    assert gate.freed([settled("1")]) == (False, True)
    assert not gate.hint()


def test_a_rate_is_tried_when_a_token_is_due_but_not_for_each_one(gate: LimitGate, clock: Clock) -> None:
    refuse(gate, again_in=0.001)
    assert gate.patience() == pytest.approx(TOKEN_PAUSE)
    clock.now += TOKEN_PAUSE
    assert gate.reopened().keys() == {LANE.id}
    refuse(gate, again_in=7.0)
    assert gate.patience() == pytest.approx(7.0)


def test_other_controls_open_everything(gate: LimitGate) -> None:
    refuse(gate)
    gate.follow(Controls())
    assert gate.reopened().keys() == {LANE.id}
    assert not gate.rules.any
