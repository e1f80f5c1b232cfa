"""How many jobs are claimed ahead: by the rate at which they end, and by what a claim takes."""

import pytest

from fairlead.worker import pace
from fairlead.worker.pace import MOST, Pace
from tests.support.clock import Clock

SLOTS = 100


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


def paced(clock: Clock, *ended: int, takes: float = 0.02) -> int:
    """What is allowed after spans of an eighth of a second in which so many jobs ended."""
    own = Pace()
    for _ in range(200):
        own.claimed(takes)
    for jobs in ended:
        own.ended(jobs)
        clock.now += 0.125
        allowed = own.allowance(SLOTS)
    return allowed


def test_nothing_is_claimed_ahead_before_anything_has_ended(clock: Clock) -> None:
    assert paced(clock, 0, 0) == 0


@pytest.mark.parametrize(("takes", "ahead"), [(0.0001, 10), (0.02, 60), (5.0, 100)])
def test_as_much_is_claimed_ahead_as_ends_in_the_time_of_a_few_claims(clock: Clock, takes: float, ahead: int) -> None:
    assert paced(clock, 125, 125, takes=takes) == pytest.approx(ahead, abs=1)


def test_a_quick_pace_is_known_after_two_spans(clock: Clock) -> None:
    assert paced(clock, 10_000) == 0
    assert paced(clock, 10_000, 10_000) == MOST


def rounds(clock: Clock, own: Pace, slots: int, count: int) -> list[int]:
    """What is allowed after each of so many rounds, in which all slots are filled with quick jobs."""
    allowed = []
    for _ in range(count):
        clock.now += 0.001
        own.ended(slots, left=0)
        clock.now += 0.005
        own.claimed(0.005)
        allowed.append(own.allowance(slots))
    return allowed


def test_a_quick_pace_is_known_when_many_slots_were_filled_twice(clock: Clock) -> None:
    assert rounds(clock, Pace(), 500, 3) == [0, MOST, MOST]


def test_the_same_goes_for_a_worker_that_had_little_to_do(clock: Clock) -> None:
    own = Pace()
    for _ in range(10):
        own.ended(1, left=0)
        clock.now += 30.0
        assert own.allowance(500) == 0
    assert rounds(clock, own, 500, 3) == [0, MOST, MOST]


@pytest.mark.parametrize("slots", [1, 4, 10])
def test_a_few_quick_jobs_say_nothing_about_the_next(clock: Clock, slots: int) -> None:
    assert rounds(clock, Pace(), slots, 5) == [0] * 5


def test_many_that_end_together_once_are_no_pace(clock: Clock) -> None:
    assert paced(clock, 0, 500, 0, 500) == 0


def test_who_has_become_slow_claims_less_at_once(clock: Clock) -> None:
    assert paced(clock, 250, 250, 25) == pytest.approx(12, abs=1)


@pytest.mark.parametrize(
    ("empty", "rate"), [(0.009, 10 / 0.001), (0.05, 10 / 0.042)], ids=["for a claim", "for news before it"]
)
def test_waiting_with_empty_hands_slows_the_pace_unless_for_a_claim(clock: Clock, empty: float, rate: float) -> None:
    own = Pace()
    for _ in range(30):
        clock.now += 0.001
        own.ended(10, left=0)
        clock.now += empty
        own.claimed(0.009)
        allowed = own.allowance(SLOTS)
    assert allowed == pytest.approx(rate * 3 * 0.009, rel=0.02, abs=1)


def test_hands_that_are_full_while_a_claim_is_on_its_way_lose_no_time(clock: Clock) -> None:
    own = Pace()
    for _ in range(30):
        clock.now += 0.01
        own.ended(10, left=5)
        own.claimed(0.009)
        allowed = own.allowance(SLOTS)
    assert allowed == pytest.approx(1_000 * 3 * 0.009, abs=1)
