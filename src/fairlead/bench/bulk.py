"""What one process does that submits jobs in bulk; run as a program it performs the parts that it reads."""

import asyncio
import time
from typing import NamedTuple

import uvloop

from fairlead.bench.app import BenchApp
from fairlead.bench.hands import Done, serve
from fairlead.bench.supply import BATCH

BULK = 10 * BATCH


class Part(NamedTuple):
    """Where to submit what, and for how long."""

    url: str
    text: str
    seconds: float


async def perform(part: Part) -> Done:
    """Submit through the public client, call after call."""
    calls = [{"text": part.text}] * BULK
    async with BenchApp(part.url) as app:
        handler = app.noops[0]
        await handler.enqueue_many(calls)  # connect, prepare, enter the lane
        began = time.monotonic()
        jobs = 0
        while time.monotonic() < began + part.seconds:
            jobs += len(await handler.enqueue_many(calls))
        return Done(jobs, began, time.monotonic())


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        serve(lambda given: runner.run(perform(Part(*given))))
