"""Retry delays: bounded, never negative, spread, and over at some time."""

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.retry import (
    DEFAULT_DELAYS,
    JITTERS,
    LONGEST_DELAY,
    MAX_ATTEMPTS,
    Retry,
    delay_bounds,
    retry_delay,
)
from fairlead.errors import ConfigError

PARTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "list": {"delays": st.lists(st.floats(0, 1e9), min_size=1, max_size=8)},
    "fixed": {"first": st.floats(0, 1e9)},
    "linear": {"first": st.floats(0, 1e9)},
    "exponential": {"first": st.floats(0, 1e9), "factor": st.floats(1, 1e9)},
    "polynomial": {"first": st.floats(0, 1e9), "power": st.floats(0, 100)},
}


@st.composite
def policies(draw: st.DrawFn) -> Retry:
    """A policy of any kind with any jitter."""
    backoff, jitter = draw(st.sampled_from(sorted(PARTS))), draw(st.sampled_from(JITTERS))
    parts = {name: draw(strategy) for name, strategy in PARTS[backoff].items()}
    if jitter == "proportional":
        parts["percent"] = draw(st.floats(0, 100))
    if draw(st.booleans()):
        parts["cap"] = draw(st.floats(0, 1e8))
    return Retry(draw(st.integers(1, MAX_ATTEMPTS)), backoff=backoff, jitter=jitter, **parts)


@given(policy=policies(), attempt=st.integers(1, MAX_ATTEMPTS), seed=st.integers())
def test_a_delay_lies_within_its_bounds_and_the_cap(policy: Retry, attempt: int, seed: int) -> None:
    shortest, longest = delay_bounds(policy, attempt)
    assert 0 <= shortest <= longest <= LONGEST_DELAY
    assert policy.cap is None or longest <= policy.cap  # type: ignore[operator]
    delay = retry_delay(policy, attempt, 0.0, Random(seed))
    assert (delay is None) == (attempt >= policy.attempts)
    if delay is not None:
        assert math.isfinite(delay)
        assert shortest * (1 - 1e-12) <= delay <= longest * (1 + 1e-12)


@given(policy=policies(), attempt=st.integers(1, MAX_ATTEMPTS - 1))
def test_all_but_a_list_never_wait_shorter_than_before(policy: Retry, attempt: int) -> None:
    if policy.kind != "list":
        assert delay_bounds(policy, attempt)[1] <= delay_bounds(policy, attempt + 1)[1]


@given(policy=policies())
def test_a_policy_is_made_again_from_what_is_stored(policy: Retry) -> None:
    assert Retry(**policy.stored()) == policy


@given(
    policy=policies(),
    attempt=st.integers(1, MAX_ATTEMPTS - 1),
    age=st.floats(0, 1e9),
    max_age=st.floats(0, 1e9),
    after=st.none() | st.floats(0, 1e9),
    seed=st.integers(),
)
def test_no_retry_starts_after_the_greatest_age(
    policy: Retry, attempt: int, age: float, max_age: float, after: float | None, seed: int
) -> None:
    bounded = Retry(**{**policy.stored(), "max_age": max_age})
    delay = retry_delay(bounded, attempt, age, Random(seed), after)
    free = retry_delay(policy, attempt, age, Random(seed), after)
    if delay is not None:
        assert age + delay <= max_age
        assert delay == free
    else:
        assert free is None or age + free > max_age


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (Retry(9), [1, 5, 30, 300, 1800, 1800, 1800]),
        (Retry(9, first="1s", factor=4, cap="30m"), [1, 4, 16, 64, 256, 1024, 1800]),
        (Retry.exponential("1s"), [1, 2, 4, 8, 16, 32, 64]),
        (Retry.fixed("10s"), [10] * 7),
        (Retry.linear("10s", cap="1m"), [10, 20, 30, 40, 50, 60, 60]),
        (Retry.polynomial("1s", 3), [1, 8, 27, 64, 125, 216, 343]),
        (Retry.after("1s", "2h"), [1, 7200, 7200, 7200, 7200, 7200, 7200]),
        (Retry(backoff=lambda attempt: f"{attempt}m"), [60, 120, 180, 240, 300, 360, 420]),
        (Retry(backoff="custom"), [1, 5, 30, 300, 1800, 1800, 1800]),
    ],
)
def test_each_backoff_grows_in_its_way(policy: Retry, delays: list[float]) -> None:
    assert [delay_bounds(policy, attempt)[1] for attempt in range(1, 8)] == delays


@pytest.mark.parametrize(
    ("jitter", "bounds"),
    [
        ({"jitter": "none"}, (400, 400)),
        ({"jitter": "full"}, (0, 400)),
        ({"jitter": "equal"}, (200, 400)),
        ({"jitter": "proportional"}, (320, 480)),
        ({"jitter": "proportional", "percent": 100}, (0, 500)),
        ({"jitter": "decorrelated"}, (100, 500)),
    ],
)
def test_each_jitter_has_its_bounds(jitter: dict[str, Any], bounds: tuple[float, float]) -> None:
    assert delay_bounds(Retry.exponential(100, 2, cap=500, **jitter), 3) == bounds


def test_an_exponential_backoff_has_one_factor_however_it_is_written() -> None:
    policies = [Retry(first="1s"), Retry.exponential("1s"), Retry(backoff="exponential")]
    assert {policy.factor for policy in policies} == {2.0}


def test_decorrelated_jitter_with_factor_three_has_the_bounds_of_the_one_that_remembers() -> None:
    policy = Retry.exponential(1, 3, cap=100, jitter="decorrelated")
    assert [delay_bounds(policy, attempt) for attempt in range(1, 7)] == [
        (1, 3), (1, 9), (1, 27), (1, 81), (1, 100), (1, 100)
    ]  # fmt: skip


def test_full_jitter_is_even() -> None:
    policy, rng, buckets = Retry.fixed(10), Random(1), [0] * 10
    for _ in range(20_000):
        buckets[int(retry_delay(policy, 1, 0.0, rng) or 0.0)] += 1
    chi_square = sum((count - 2000) ** 2 / 2000 for count in buckets)
    assert chi_square < 27.9, "what nine degrees of freedom exceed once in a thousand times"


def test_the_default_is_the_list_with_full_jitter_and_five_attempts() -> None:
    assert (Retry().attempts, Retry().kind, Retry().delays, Retry().jitter) == (5, "list", DEFAULT_DELAYS, "full")


def test_a_policy_that_does_not_wait_never_waits() -> None:
    policy = Retry(attempts=MAX_ATTEMPTS, first=0, factor=4)
    assert {delay_bounds(policy, attempt)[1] for attempt in range(1, MAX_ATTEMPTS)} == {0}


def test_one_attempt_means_no_retry() -> None:
    assert retry_delay(Retry(attempts=1), 1, 0.0, Random(1)) is None


def test_a_wait_that_was_asked_for_is_kept_exactly_but_not_beyond_the_limits() -> None:
    policy = Retry.fixed(10, attempts=3, max_age="1h")
    assert retry_delay(policy, 2, 0.0, Random(1), after=1234.5) == 1234.5
    assert retry_delay(policy, 3, 0.0, Random(1), after=1.0) is None
    assert retry_delay(policy, 1, 3000.0, Random(1), after=601.0) is None


def test_what_the_other_side_asks_for_is_the_least() -> None:
    policy = Retry.fixed(10, jitter="none")
    assert retry_delay(policy, 1, 0.0, Random(1), at_least=60.0) == 60
    assert retry_delay(policy, 1, 0.0, Random(1), at_least=1.0) == 10


@pytest.mark.parametrize("answer", [math.nan, math.inf, -1, None, "soon", 1e300, object()])
def test_a_function_that_returns_no_duration_is_replaced_by_the_list(answer: Any) -> None:
    assert delay_bounds(Retry(backoff=lambda attempt: answer), 2)[1] == 5


def test_a_function_that_fails_is_replaced_by_the_list() -> None:
    def fail(attempt: int) -> float:
        raise ZeroDivisionError

    assert delay_bounds(Retry(backoff=fail), 3)[1] == 30


def test_a_function_has_no_jitter_unless_it_is_asked_for() -> None:
    assert delay_bounds(Retry(backoff=lambda attempt: 7), 1) == (7, 7)
    assert delay_bounds(Retry(backoff=lambda attempt: 7, jitter="full"), 1) == (0, 7)


def test_of_a_function_only_its_existence_is_stored() -> None:
    policy = Retry(3, backoff=lambda attempt: 7)
    assert policy.stored() == {"attempts": 3, "backoff": "custom", "jitter": "none"}
    assert Retry(**policy.stored()).kind == "custom"


def test_durations_may_be_written_as_text() -> None:
    assert Retry(first="5m", cap="1h", max_age="1d") == Retry(first=300, cap=3600, max_age=86400)
    assert Retry(delays=["1s", "1m"]) == Retry(delays=(1, 60))


def test_a_list_has_one_retry_for_each_delay() -> None:
    assert Retry.after("1s", "1m").attempts == 3
    assert Retry.after("1s", "1m", attempts=9).attempts == 9


@pytest.mark.parametrize(
    "settings",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": MAX_ATTEMPTS + 1},
        {"attempts": "five"},
        {"factor": 0.5},
        {"factor": math.nan},
        {"factor": math.inf},
        {"first": -1},
        {"first": "soon"},
        {"cap": math.inf},
        {"cap": -1},
        {"max_age": -1},
        {"backoff": "quadratic"},
        {"jitter": "some"},
        {"delays": []},
        {"delays": "1s"},
        {"delays": [1, -1]},
        {"delays": [1], "first": 1},
        {"backoff": "fixed", "factor": 2},
        {"backoff": "list", "first": 2},
        {"backoff": lambda attempt: 1, "first": 2},
        {"power": -1},
        {"power": 1000},
        {"percent": 10},
        {"percent": 101, "jitter": "proportional"},
    ],
)
def test_a_policy_that_cannot_work_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Retry(**settings)
