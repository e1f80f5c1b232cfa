"""What the samples of the last minutes show that no single look does: what lasts, and what grows."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

WINDOW = 900.0  # seconds of samples that the trends need
SLOW_FOR = 120.0  # seconds that a pool may be slower than it should before that is worth a word
DEEP_FOR = 300.0  # the same for a queue that is deeper than it should be
RECENT = 300.0  # the time in which deaths are counted, against those of the time before
FEW_DEATHS = 10
GROWTH = 2.0


class Sample(NamedTuple):
    """The system at one instant: by pool how many were ready and how long the first had waited; what had just died."""

    at: float
    ready: Mapping[str, int]
    oldest: Mapping[str, float]
    dead: int


def lasts(samples: Sequence[Sample], seconds: float, holds: Callable[[Sample], bool]) -> bool:
    """Whether something was so in all samples of the last seconds, and these reach back so far."""
    if not samples:
        return False
    begin = samples[-1].at - seconds
    return samples[0].at <= begin and all(holds(sample) for sample in samples if sample.at >= begin)


def is_slow(samples: Sequence[Sample], pool: str, wait: float | None) -> bool:
    """Whether jobs of a pool have waited for longer than they should, for a while."""
    return wait is not None and lasts(samples, SLOW_FOR, lambda sample: sample.oldest.get(pool, 0.0) > wait)


def is_deep(samples: Sequence[Sample], pool: str, depth: int | None) -> bool:
    """Whether more jobs of a pool were ready than should be, for a while."""
    return depth is not None and lasts(samples, DEEP_FOR, lambda sample: sample.ready.get(pool, 0) > depth)


def growing_deaths(samples: Sequence[Sample]) -> int:
    """How many jobs died lately, if that is many and at least twice the pace of the time before; else 0."""
    if not samples:
        return 0
    begin = samples[-1].at - RECENT
    lately = sum(sample.dead for sample in samples if sample.at > begin)
    before = sum(sample.dead for sample in samples if sample.at <= begin)
    usual = before * RECENT / (WINDOW - RECENT)
    return lately if lately >= FEW_DEATHS and lately >= GROWTH * usual else 0
