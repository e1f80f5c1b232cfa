"""Token buckets: never more than burst + rate x time in any window, whatever is taken when."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.core.protection.token_bucket import Bucket, RateLimit, full_at, left, parse_rate, rate_limit, take, wait
from fairlead.errors import ConfigError

FLOWS = some.builds(RateLimit, some.floats(0.001, 10_000), some.floats(1, 10_000))
TRIES = some.lists(some.tuples(some.floats(-1, 100), some.integers(0, 20_000)), max_size=50)


@given(FLOWS, TRIES)
def test_no_window_sees_more_than_its_burst_and_its_rate(way: RateLimit, tries: list[tuple[float, int]]) -> None:
    bucket: Bucket | None = None
    now, taken = 1_000_000.0, []
    for pause, wanted in tries:
        now += pause  # also a clock that goes back
        count = min(wanted, int(left(bucket, way, now)))
        bucket = take(bucket, way, now, count)
        taken.append((bucket.at, count))
    for start in range(len(taken)):
        for end in range(start, len(taken)):
            span = taken[end][0] - taken[start][0]
            total = sum(count for _, count in taken[start : end + 1])
            assert total <= way.burst + way.rate * span + 1e-6 * (1 + way.burst + way.rate * span)


@given(FLOWS, some.integers(1, 100))
def test_after_the_wait_there_are_enough(way: RateLimit, count: int) -> None:
    empty = Bucket(0.0, 1_000_000.0)
    then = empty.at + wait(empty, way, count)
    assert left(empty, way, then) >= min(count, way.burst) * (1 - 1e-3) - way.rate * 1e-9


def test_a_bucket_is_full_at_the_instant_it_names() -> None:
    way = RateLimit(2.0, 10.0)
    bucket = take(None, way, 100.0, 8)
    assert (bucket, full_at(bucket, way)) == (Bucket(2.0, 100.0), 104.0)
    assert left(bucket, way, 104.0) == left(None, way, 104.0) == left(bucket, way, 9_999.0) == 10.0


@pytest.mark.parametrize(
    ("text", "rate", "burst"),
    [
        ("100/s", 100.0, 100.0),
        ("600/m", 10.0, 10.0),
        ("36/h", 0.01, 1.0),
        ("36/hour", 0.01, 1.0),
        ("20/30s", 2 / 3, 1.0),
        (2.5, 2.5, 3.0),
    ],
)
def test_rates_are_read_as_people_write_them(text: str | float, rate: float, burst: float) -> None:
    found = rate_limit(text)
    assert found.rate == pytest.approx(rate)
    assert found.burst == burst


@pytest.mark.parametrize("text", ["", "100", "0/s", "5/0s", "-1/s", "1/fortnight", "/s", "1/s/s", 0, -1.0, 1e12])
def test_what_is_no_rate_is_refused(text: str | float) -> None:
    with pytest.raises(ConfigError, match="is not a rate"):
        parse_rate(text)


def test_a_burst_holds_at_least_one() -> None:
    with pytest.raises(ConfigError, match="burst"):
        rate_limit("1/s", 0)
