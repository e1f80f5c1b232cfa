"""Measures the floor: tries batch sizes, then one and two processes; the best rate counts."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from benchmarks.floor.phases import Part
from benchmarks.subprocesses import Helper, opened_helpers, perform_together

BATCHES = (200, 500, 1000, 2000)
PROCESSES = (1, 2)
TRIAL_SHARE = 10
SMALLEST_TRIAL = 4_000
FILL_BATCH = 1000
PAYLOAD = '{"text":"' + "x" * 53 + '"}'


class Measured(NamedTuple):
    """The rate of one phase with the best batch, and all rates that were tried."""

    phase: str
    jobs_per_s: float
    batch: int
    processes: int
    tried: list[dict[str, Any]]


async def measure_floor(url: str, phase: str, jobs: int) -> Measured:
    """The fastest bare loop over so many jobs; phases are insert, drain (claim and settle) and flow (all three)."""
    async with floor_helpers() as helpers:
        return await measure_with(helpers, Part(url, phase, jobs, FILL_BATCH, PAYLOAD))


async def sustain_floor(url: str, jobs: int, seconds: float) -> Measured:
    """The rate of the best loop of all three steps over about so many seconds, with its vacuums and checkpoints."""
    async with floor_helpers() as helpers:
        part = Part(url, "flow", jobs, FILL_BATCH, PAYLOAD)
        best = await measure_with(helpers, part)
        long = part._replace(jobs=max(jobs, int(best.jobs_per_s * seconds)), batch=best.batch)
        found = await _try(helpers[: best.processes], long)
    return best._replace(jobs_per_s=found["jobs_per_s"], tried=[*best.tried, found])


def floor_helpers() -> AbstractAsyncContextManager[list[Helper]]:
    """As many helper processes as the largest run needs."""
    return opened_helpers("benchmarks.floor.phases", max(PROCESSES))


async def measure_with(helpers: list[Helper], part: Part) -> Measured:
    """Measure with processes that run already."""
    trial = part._replace(jobs=min(part.jobs, max(SMALLEST_TRIAL, part.jobs // TRIAL_SHARE)))
    tried = [await _try(helpers[:1], trial._replace(batch=batch)) for batch in BATCHES]
    batch = max(tried, key=lambda one: one["jobs_per_s"])["batch"]
    full = [await _try(helpers[:count], part._replace(batch=batch)) for count in PROCESSES]
    best = max(full, key=lambda one: one["jobs_per_s"])
    return Measured(part.phase, best["jobs_per_s"], batch, best["processes"], [*tried, *full])


async def _try(helpers: Sequence[Helper], part: Part) -> dict[str, Any]:
    """The rate of some processes together on new tables; each prepares them once, so that all are warm."""
    filled = part.jobs if part.phase == "drain" else 0
    for helper in helpers:
        await helper.perform(part._replace(phase="prepare", jobs=0))
    await helpers[0].perform(part._replace(phase="prepare", jobs=filled, batch=FILL_BATCH))
    rate = await perform_together(helpers, part._replace(jobs=part.jobs // len(helpers)))
    return {**_facts(part), "processes": len(helpers), "jobs_per_s": rate}


def _facts(part: Part) -> dict[str, Any]:
    return {"phase": part.phase, "jobs": part.jobs, "batch": part.batch}
