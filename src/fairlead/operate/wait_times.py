"""How long jobs wait until they start: lately, and minute by minute for the last hour.

The counts are the workers' own, flushed every few seconds, so what is shown is a few seconds behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


def waits_document(view: WaitView) -> dict[str, Any]:
    """The waits in JSON."""
    return {
        "seconds": view.seconds,
        "all": view.all and spread_document(view.all),
        "pools": {pool: spread_document(found) for pool, found in view.pools.items()},
        "minutes": [{"at": minute, **spread_document(found)} for minute, found in view.minutes.items()],
    }


def spread_document(found: Spread) -> dict[str, Any]:
    """Percentiles in JSON, in seconds."""
    return {"count": found.total, **{name: round(getattr(found, name), 6) for name in ("p50", "p95", "p99")}}


def _view(counts: Sequence[WaitCount], window: float) -> WaitView:
    return WaitView(window, spread_of(counts), by_pool(counts), by_minute(counts))
