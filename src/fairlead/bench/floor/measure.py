"""The floor of a store: the best batch is looked for, then one and two processes run; the best counts."""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

from fairlead.bench.floor.phases import Done, Part
from fairlead.errors import StoreUnavailable

BATCHES = (200, 500, 1000, 2000)
PROCESSES = (1, 2)
TRIAL_SHARE = 10
SMALLEST_TRIAL = 4_000
FILL_BATCH = 1000


class Measured(NamedTuple):
    """The rate of one phase with the batch that won, and all that was tried."""

    phase: str
    jobs_per_s: float
    batch: int
    processes: int
    tried: list[dict[str, Any]]


async def measure_floor(url: str, phase: str, jobs: int, payload: str) -> Measured:
    """The fastest bare loop over so many jobs; phases are insert, drain (claim and settle) and flow (all three)."""
    async with opened_hands() as hands:
        return await measure_with(hands, Part(url, phase, jobs, FILL_BATCH, payload))


async def measure_with(hands: "list[Hand]", part: Part) -> Measured:
    """The same, with processes that are there."""
    trial = part._replace(jobs=min(part.jobs, max(SMALLEST_TRIAL, part.jobs // TRIAL_SHARE)))
    tried = [await _try(hands[:1], trial._replace(batch=batch)) for batch in BATCHES]
    batch = max(tried, key=lambda one: one["jobs_per_s"])["batch"]
    full = [await _try(hands[:count], part._replace(batch=batch)) for count in PROCESSES]
    best = max(full, key=lambda one: one["jobs_per_s"])
    return Measured(part.phase, best["jobs_per_s"], batch, best["processes"], [*tried, *full])


class Hand:
    """A process that performs parts, one after the other."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def perform(self, part: Part) -> Done:
        """What came of the part."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(part).encode() + b"\n")
        answer = await self._process.stdout.readline()
        if not answer:
            raise StoreUnavailable("a process of the bare loop failed; its error stands above")
        return Done(*json.loads(answer))

    async def end(self) -> None:
        """Kill the process and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.communicate()


@contextlib.asynccontextmanager
async def opened_hands() -> AsyncIterator[list[Hand]]:
    """As many processes as the largest run needs."""
    hands: list[Hand] = []
    try:
        for _ in range(max(PROCESSES)):
            command = (sys.executable, "-m", "fairlead.bench.floor.phases")
            hands.append(Hand(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)))
        yield hands
    finally:
        for hand in hands:
            await hand.end()


async def _try(hands: Sequence[Hand], part: Part) -> dict[str, Any]:
    """The rate of some processes together, on new tables; each has prepared them once, so that all are awake."""
    filled = part.jobs if part.phase == "drain" else 0
    for hand in hands:
        await hand.perform(part._replace(phase="prepare", jobs=0))
    await hands[0].perform(part._replace(phase="prepare", jobs=filled, batch=FILL_BATCH))
    share = part._replace(jobs=part.jobs // len(hands))
    done = await asyncio.gather(*(hand.perform(share) for hand in hands))
    seconds = max(one.ended for one in done) - min(one.began for one in done)
    rate = sum(one.jobs for one in done) / seconds
    return {**_facts(part), "processes": len(hands), "jobs_per_s": round(rate)}


def _facts(part: Part) -> dict[str, Any]:
    return {"phase": part.phase, "jobs": part.jobs, "batch": part.batch}
