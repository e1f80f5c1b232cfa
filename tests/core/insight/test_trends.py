"""What lasts and what grows, by samples of the last minutes."""

from collections.abc import Callable

from fairlead.core.insight.diagnosis import DEEP_FOR, FEW_DEATHS, SLOW_FOR, Sample, growing_deaths, is_deep, is_slow

EVERY = 5.0


def samples(seconds: float, make: Callable[[float], Sample]) -> list[Sample]:
    """Samples every few seconds; each is made of how long ago it was."""
    count = int(seconds / EVERY)
    return [make((count - number) * EVERY) for number in range(count + 1)]


def waited(oldest: float, ready: int = 1, dead: int = 0, ago: float = 0.0) -> Sample:
    return Sample(1_000.0 - ago, {"short": ready}, {"short": oldest}, dead)


def test_a_pool_is_slow_when_every_sample_of_two_minutes_was() -> None:
    past = samples(SLOW_FOR, lambda ago: waited(0.6, ago=ago))
    assert is_slow(past, "short", 0.5)
    assert not is_slow(past[5:], "short", 0.5), "the samples do not reach back far enough"
    assert not is_slow([*past[:-3], waited(0.4, ago=15.0), *past[-3:]], "short", 0.5)
    assert not is_slow(past, "short", None)
    assert not is_slow(past, "medium", 0.5)
    assert not is_slow([], "short", 0.5)


def test_what_was_before_the_two_minutes_does_not_count() -> None:
    assert is_slow(samples(600, lambda ago: waited(0.0 if ago > SLOW_FOR else 9.0, ago=ago)), "short", 0.5)


def test_a_pool_is_deep_when_more_were_ready_all_the_time() -> None:
    past = samples(DEEP_FOR, lambda ago: waited(0.0, ready=101, ago=ago))
    assert is_deep(past, "short", 100)
    assert not is_deep(past, "short", 101)
    assert not is_deep(past, "short", None)


def test_deaths_grow_when_they_are_many_and_more_than_before() -> None:
    assert growing_deaths([waited(0.0, dead=FEW_DEATHS)]) == FEW_DEATHS
    assert growing_deaths([waited(0.0, dead=FEW_DEATHS - 1)]) == 0
    assert growing_deaths(samples(900, lambda ago: waited(0.0, dead=1, ago=ago))) == 0, "as many as ever"
    assert growing_deaths(samples(900, lambda ago: waited(0.0, dead=3 if ago < 300 else 1, ago=ago))) == 180
    assert growing_deaths([]) == 0
