"""What a benchmark found: figures, a table, and the setup they hold for."""

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlead.stores.sqlite import address
from fairlead.version import __version__
from fairlead.wiring import make_store


@dataclass
class Report:
    """The answer of one subcommand; `figures` are its headline, `rows` its table."""

    bench: str
    setup: dict[str, Any]
    figures: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """All of it as one JSON object."""
        return {"bench": self.bench, **self.figures, "setup": self.setup, "rows": self.rows, "notes": self.notes}


async def describe(url: str, **choices: Any) -> dict[str, Any]:
    """The setup of a run: store, durability, versions, machine, and the choices of this benchmark."""
    store = make_store(url)
    await store.open()
    try:
        facts = await store.jobs.facts()
    finally:
        await store.close()
    return {**_store_facts(url, facts), **machine(), **choices}


def machine() -> dict[str, Any]:
    """What runs the benchmark."""
    return {
        "fairlead": __version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "machine": platform.platform(terse=True),
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
        "load_average": round(os.getloadavg()[0], 2),
    }


def share(rate: float, floor: float) -> float:
    """A rate as a share of its floor."""
    return round(rate / floor, 3) if floor else 0.0


def position(count: int, percent: float) -> int:
    """Where in sorted values of this count a percentile stands."""
    return min(count - 1, int(count * percent / 100))


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and the largest, in milliseconds."""
    ordered = sorted(values)
    found = {f"p{percent}_ms": ordered[position(len(ordered), percent)] for percent in (50, 95, 99)}
    return {name: round(value * 1000, 3) for name, value in {**found, "max_ms": ordered[-1]}.items()}


def _store_facts(url: str, facts: dict[str, Any]) -> dict[str, Any]:
    kept = ("fsync", "synchronous_commit", "full_page_writes", "journal_mode", "synchronous")
    described = {
        "store": facts["store"],
        "version": facts["version"],
        "durability": {name: facts[name] for name in (*kept, "durable") if name in facts},
    }
    if facts["store"] == "sqlite":
        described["file_system"] = address._file_system(address.parse(url).path)
    return described
