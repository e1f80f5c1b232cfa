"""The table of states: every pair of states."""

from itertools import product

import pytest

from fairlead.core.jobs.states import FINAL, LIVE, MOVES, PENDING, State, require
from fairlead.errors import IllegalMove

PAIRS = list(product(State, State))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_move_is_allowed_exactly_if_the_table_has_it(source: State, target: State) -> None:
    if target in MOVES[source]:
        require(source, target)
    else:
        with pytest.raises(IllegalMove, match=f"from {source} to {target}"):
            require(source, target)


def test_every_state_is_in_the_table() -> None:
    assert set(MOVES) == set(State)


def test_every_state_is_created_pending_running_or_final() -> None:
    assert {State.CREATED} | PENDING | {State.RUNNING} | FINAL == set(State)
    assert PENDING | {State.RUNNING} == LIVE
    assert not LIVE & FINAL


def test_no_state_moves_to_itself_or_back_to_created() -> None:
    for source, targets in MOVES.items():
        assert source not in targets
        assert State.CREATED not in targets


def test_final_states_stay_but_for_dead_which_an_operator_moves() -> None:
    assert {state for state in FINAL if MOVES[state]} == {State.DEAD}
    assert MOVES[State.DEAD] == {State.READY, State.CANCELLED}


def test_only_a_running_job_succeeds() -> None:
    assert [source for source in State if State.SUCCEEDED in MOVES[source]] == [State.RUNNING]


def test_only_a_job_that_is_ready_or_on_a_broker_starts_to_run() -> None:
    assert {source for source in State if State.RUNNING in MOVES[source]} == {State.READY, State.ENQUEUED}


@pytest.mark.parametrize("state", sorted(LIVE))
def test_every_live_job_can_be_cancelled_and_expire(state: State) -> None:
    assert {State.CANCELLED, State.EXPIRED} <= MOVES[state]


def test_every_state_is_reachable() -> None:
    reached, new = {State.CREATED}, {State.CREATED}
    while new:
        new = {target for source in new for target in MOVES[source]} - reached
        reached |= new
    assert reached == set(State)


@pytest.mark.parametrize("state", sorted(LIVE))
def test_every_live_job_can_still_end(state: State) -> None:
    reached, new = {state}, {state}
    while new:
        new = {target for source in new for target in MOVES[source]} - reached
        reached |= new
    assert reached & FINAL


def test_a_state_equals_its_text() -> None:
    assert {state: state.value for state in State}["ready"] == "ready"  # type: ignore[index]
