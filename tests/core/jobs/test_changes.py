"""What a waiting job becomes when it is changed."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairlead.core.jobs.changes import WaitingChange, change_waiting, make_ready
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import FINAL, State
from fairlead.errors import IllegalMove

NOW = 1_900_000_000.0
LANE = Lane("short", "acme", "mail", Priority.HIGH, 2)


def job(state: State) -> JobRecord:
    at = datetime.fromtimestamp(NOW, UTC)
    return JobRecord(
        id="id", type="mail", tenant="acme", pool="short", priority=Priority.HIGH, version=2, state=state, payload="{}",
        attempt=0, crashes=0, fence=3, created_at=at, run_at=at, not_after=None, started_at=None, finished_at=None,
        worker=None, result=None, error=None, key=None, options=None, parent=None,
    )  # fmt: skip


def test_what_is_not_named_stays() -> None:
    assert change_waiting(job(State.READY), NOW) == WaitingChange("id", State.READY, 3, LANE, State.READY, None, None)


def test_priority_and_version_are_part_of_the_lane() -> None:
    change = change_waiting(job(State.READY), NOW, Priority.LOW, payload="[1]", version=5)
    assert change.lane == LANE._replace(priority=Priority.LOW, version=5)
    assert change.payload == "[1]"


@pytest.mark.parametrize(
    ("state", "run_at", "becomes"),
    [
        (State.READY, NOW + 1, State.SCHEDULED),
        (State.READY, NOW, State.READY),
        (State.SCHEDULED, NOW + 1, State.SCHEDULED),
        (State.SCHEDULED, NOW - 1, State.READY),
        (State.RETRYING, NOW + 1, State.RETRYING),
        (State.RETRYING, NOW - 1, State.READY),
        (State.BLOCKED, NOW + 1, State.BLOCKED),
        (State.BLOCKED, NOW - 1, State.BLOCKED),
    ],
)
def test_a_time_decides_the_state(state: State, run_at: float, becomes: State) -> None:
    change = change_waiting(job(state), NOW, run_at=run_at)
    assert (change.held_state, change.state, change.run_at) == (state, becomes, run_at)


@pytest.mark.parametrize("state", [*sorted(FINAL), State.RUNNING, State.ENQUEUED])
def test_what_runs_or_has_ended_is_not_changed(state: State) -> None:
    with pytest.raises(IllegalMove, match="still waits"):
        change_waiting(job(state), NOW, Priority.LOW)


def test_the_limits_of_a_job_stay_with_it() -> None:
    limited = replace(job(State.SCHEDULED), limits="gpu")
    assert change_waiting(limited, NOW, Priority.LOW).lane.limits == "gpu"
    assert make_ready(limited).lane.limits == "gpu"
    assert change_waiting(limited, NOW, payload="{}", version=2, limits="cpu").lane.limits == "cpu"


def test_only_what_waits_for_its_time_is_hastened() -> None:
    assert make_ready(job(State.RETRYING)).state is State.READY
    assert make_ready(job(State.SCHEDULED)).run_at is None
    for state in (State.READY, State.BLOCKED, State.RUNNING, State.DEAD):
        with pytest.raises(IllegalMove):
            make_ready(job(state))
