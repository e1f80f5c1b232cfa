"""How a dead job comes back, and when a replay in stages goes on."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.dead_letters import (
    DeadHold,
    Refusal,
    Stage,
    cancel_dead,
    edit_dead,
    revive,
    stage_size,
    why_stop,
)
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.errors import IllegalMove

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LANE = Lane("short", "acme", "mail", Priority.HIGH, 2)


def job(state: State = State.DEAD) -> JobRecord:
    return JobRecord(
        id="id", type="mail", tenant="acme", pool="short", priority=Priority.HIGH, version=2, state=state, payload="{}",
        attempt=5, crashes=1, fence=9, created_at=NOW, run_at=NOW, not_after=None, started_at=NOW, finished_at=NOW,
        worker=None, result=None, error=None, key="k", options=None, parent=None,
    )  # fmt: skip


def stage(number: int, revived: int, again: int = 0, otherwise: int = 0, unfinished: int = 0) -> Stage:
    return Stage(number, revived, 0, revived - again - otherwise - unfinished, again, otherwise, unfinished)


def test_a_revival_names_what_was_seen_and_keeps_the_rest() -> None:
    assert revive(job()) == (DeadHold("id", 9, NOW), LANE, State.READY, "k", None)
    assert revive(job(), '{"a":1}', 3)[1:] == (LANE._replace(version=3), State.READY, "k", '{"a":1}')
    assert edit_dead(job(), "[]", 4) == (DeadHold("id", 9, NOW), LANE._replace(version=4), "[]")
    assert cancel_dead(job()) == DeadHold("id", 9, NOW)


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CANCELLED, State.EXPIRED])
def test_only_the_dead_come_back(state: State) -> None:
    with pytest.raises(IllegalMove):
        revive(job(state))
    with pytest.raises(IllegalMove):
        cancel_dead(job(state))


def test_every_refusal_has_words() -> None:
    assert all(refusal.words for refusal in Refusal)


def test_stages_grow_up_to_a_bound() -> None:
    assert [stage_size(number) for number in range(1, 7)] == [1, 10, 100, 1000, 1000, 1000]


@pytest.mark.parametrize("number", [1, 2])
def test_one_failure_stops_the_first_stages(number: int) -> None:
    assert why_stop(stage(number, 10)) is None
    assert why_stop(stage(number, 10, again=1)) == f"1 of 10 jobs of stage {number} failed again"
    assert why_stop(stage(number, 10, otherwise=1)) is not None


def test_later_stages_bear_some_failures() -> None:
    assert why_stop(stage(3, 100, again=10)) is None
    assert why_stop(stage(3, 100, again=11)) is not None
    assert why_stop(stage(3, 100, again=6, otherwise=5)) is not None
    assert why_stop(stage(3, 100, again=11), tolerance=0.2) is None
    assert why_stop(stage(3, 100, again=1), tolerance=0.0) is not None


def test_only_what_ended_is_judged() -> None:
    assert why_stop(stage(3, 100, again=2, unfinished=90)) is not None
    assert why_stop(stage(1, 1, unfinished=1)) is not None
    assert why_stop(stage(3, 100, unfinished=99)) is None
    assert why_stop(stage(2, 0)) is None


@given(st.integers(1, 9), st.integers(0, 1000), st.data())
def test_more_failures_never_let_a_replay_go_on(number: int, revived: int, data: st.DataObject) -> None:
    failed = data.draw(st.integers(0, revived))
    fewer = data.draw(st.integers(0, failed))
    if why_stop(stage(number, revived, again=fewer)):
        assert why_stop(stage(number, revived, again=failed))
