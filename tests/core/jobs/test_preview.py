"""The timeline of attempts."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.retry import JITTERS, Retry, Step, timeline


def test_waits_add_up() -> None:
    assert timeline(Retry.after(10, 20, jitter="equal")) == [
        Step(1, 0, 0, 0),
        Step(2, 5, 7.5, 10),
        Step(3, 15, 22.5, 30),
    ]


def test_what_can_only_start_too_late_is_left_out() -> None:
    steps = timeline(Retry.fixed(10, jitter="none", attempts=100, max_age=35))
    assert [step.latest for step in steps] == [0, 10, 20, 30]


@given(attempts=st.integers(1, 1000), jitter=st.sampled_from(JITTERS), max_age=st.none() | st.floats(0, 1e6))
def test_times_are_in_order(attempts: int, jitter: str, max_age: float | None) -> None:
    steps = timeline(Retry(attempts, jitter=jitter, max_age=max_age))
    assert [step.attempt for step in steps] == list(range(1, len(steps) + 1))
    assert len(steps) == attempts or max_age is not None
    for step in steps:
        assert step.earliest <= step.expected <= step.latest
        assert max_age is None or step.latest <= max_age
