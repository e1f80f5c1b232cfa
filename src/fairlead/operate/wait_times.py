"""How long jobs wait until they start: lately, and minute by minute for the last hour.

The counts are the workers' own, flushed every few seconds, so what is shown is a few seconds behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.core.insight.wait_times import Spread, WaitCount, by_minute, by_pool, spread_of
from fairlead.records.store import Store

LATELY = 300.0
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class WaitView:
    """The waits of all pools together and of each, within so many seconds, and of each minute of them."""

    seconds: float
    all: Spread | None
    pools: dict[str, Spread]
    minutes: dict[int, Spread]


async def waits(store: Store, window: float = LATELY) -> WaitView:
    """The waits of the last seconds."""
    return _view(await store.shares.wait_counts(window), window)


def _view(counts: Sequence[WaitCount], window: float) -> WaitView:
    return WaitView(window, spread_of(counts), by_pool(counts), by_minute(counts))
