"""What a benchmark found: figures, a table of runs, and the setup they were measured on."""

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlead.bench.app import BenchApp
from fairlead.version import __version__

DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "journal_mode", "synchronous", "durable")


@dataclass
class Report:
    """The result of one benchmark; `figures` are its headline, `rows` its table."""

    bench: str
    setup: dict[str, Any]
    figures: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """All of it as one JSON object."""
        return {"bench": self.bench, **self.figures, "setup": self.setup, "rows": self.rows, "notes": self.notes}


async def describe(url: str, **choices: Any) -> dict[str, Any]:
    """The setup of a run: store, durability, versions, machine, and the options of this benchmark."""
    async with BenchApp(url) as app:
        facts = await (await app.store()).jobs.facts()
    durability = {name: facts[name] for name in DURABILITY if name in facts}
    return {"store": facts["store"], "version": facts["version"], "durability": durability, **machine(), **choices}


def machine() -> dict[str, Any]:
    """The machine, and how busy it is."""
    return {
        "fairlead": __version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "machine": platform.platform(terse=True),
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
        "load_average": round(os.getloadavg()[0], 2),
    }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and the largest, in milliseconds."""
    ordered = sorted(values)
    found = {f"p{percent}_ms": ordered[_position(len(ordered), percent)] for percent in (50, 95, 99)}
    return {name: round(value * 1000, 3) for name, value in {**found, "max_ms": ordered[-1]}.items()}


def _position(count: int, percent: int) -> int:
    """The index of a percentile in so many sorted values."""
    return min(count - 1, count * percent // 100)
