"""How long jobs waited, counted and put together again."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.run_times import bucket_of
from fairlead.core.insight.wait_times import (
    AT_ONCE,
    SAMPLE,
    Spread,
    WaitCount,
    Waits,
    by_minute,
    by_pool,
    merged,
    spread,
    spread_of,
)

seconds = st.floats(0.000_1, 1e6)


def exact(values: list[float], part: float) -> float:
    """The smallest value that so many do not exceed."""
    ordered = sorted(values)
    reached = next(at for at in range(len(ordered)) if at + 1 >= part * len(ordered))
    return ordered[reached]


@given(st.lists(seconds, min_size=1, max_size=300))
def test_percentiles_are_at_most_an_eighth_above_the_truth(values: list[float]) -> None:
    found = spread(merged((bucket_of(value), 1) for value in values))
    assert found
    for part, shown in zip((0.5, 0.95, 0.99), found[1:], strict=True):
        truth = exact(values, part)
        assert truth <= shown <= truth * 1.1251


@given(st.lists(st.tuples(st.sampled_from(["short", "long"]), seconds), max_size=60), st.integers(0, 60))
def test_counts_of_two_workers_are_those_of_one(waits: list[tuple[str, float]], cut: int) -> None:
    def counted(part: list[tuple[str, float]]) -> list[WaitCount]:
        worker = Waits()
        for pool, seconds in part:
            worker.begun([(pool, seconds)])
        return worker.take()

    together, apart = counted(waits), counted(waits[:cut]) + counted(waits[cut:])
    assert by_pool(together) == by_pool(apart)
    assert spread_of(together) == spread_of(apart)


def test_of_very_many_at_once_a_sample_stands_for_all() -> None:
    waits = Waits()
    for _ in range(10 * SAMPLE):
        waits.begun([("short", 0.5)])
    (count,) = waits.take()
    assert 0.99 < count.starts / (10 * SAMPLE) < 1.01


def test_spreads_by_minute_are_in_order_and_nothing_has_none() -> None:
    counts = [WaitCount("short", bucket_of(1.0), 1, 120), WaitCount("short", bucket_of(2.0), 3, 60)]
    assert by_minute(counts) == {60: Spread(3, 2.25, 2.25, 2.25), 120: Spread(1, 1.125, 1.125, 1.125)}
    assert list(by_minute(counts)) == [60, 120]
    assert spread({}) is None
    assert spread_of([]) is None
    assert by_pool([]) == {}


def test_a_wait_that_a_clock_makes_negative_is_none() -> None:
    waits = Waits()
    waits.begun([("short", -2.0)])
    assert waits.take() == [WaitCount("short", bucket_of(0.0), 1)]


@given(st.lists(st.integers(1, 400), max_size=10))
def test_of_those_that_begin_at_once_a_few_stand_for_all(groups: list[int]) -> None:
    waits = Waits()
    for size in groups:
        waits.begun([("short", 0.5)] * size)
    assert sum(count.starts for count in waits.take()) == sum(groups)


def test_those_that_come_in_turns_are_all_seen() -> None:
    waits = Waits()
    for _ in range(200):
        waits.begun([("short", 0.5), ("long", 0.5)] * AT_ONCE)
    counts = {count.pool: count.starts for count in waits.take()}
    assert sum(counts.values()) == 400 * AT_ONCE
    assert 0.85 < counts["short"] / counts["long"] < 1.15
