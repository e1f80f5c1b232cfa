"""The job types of a campaign: each run writes to the journal when it starts and when it ends."""

import asyncio
import os
import time

import fairlead
from tests.torture.campaign.journal import append

JOURNAL = os.environ.get("FAULTS_JOURNAL", os.devnull)
LOSSES = 50  # times that a job may lose its worker; the usual three would make some jobs of a long campaign dead

UNLIMITED = fairlead.RetryBudget(ratio=None)
app = fairlead.App(breaker=fairlead.Breaker.off(), quarantine=fairlead.Quarantine.off(), retry_budget=UNLIMITED)
RETRY = fairlead.Retry(attempts=10, first="100ms", factor=1.5)
CRASHES = {"crash": fairlead.Retry(attempts=LOSSES)}


def note(what: str, ctx: fairlead.Context) -> None:
    """Journal the start or the end of a run; the monotonic clock is the same for all processes, and nobody sets it."""
    append(JOURNAL, what, ctx.job_id, ctx.fence, os.getpid(), f"{time.clock_gettime(time.CLOCK_MONOTONIC):.6f}")


@app.handler("step", retry=RETRY, policies=CRASHES)
async def step(ctx: fairlead.Context, number: str, seconds: float) -> int:
    """Wait as a coroutine; returns its fence."""
    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)
    return ctx.fence


@app.handler("block", retry=RETRY, policies=CRASHES)
def block(ctx: fairlead.Context, number: str, seconds: float) -> int:
    """Wait in a thread, which nobody can stop; returns its fence."""
    note("start", ctx)
    time.sleep(seconds)
    note("end", ctx)
    return ctx.fence


@app.handler("flaky", retry=RETRY, policies=CRASHES)
async def flaky(ctx: fairlead.Context, number: str, seconds: float) -> int:
    """Fail at the first two attempts; returns its fence."""
    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)
    if ctx.attempt < 3:
        raise ValueError("not yet")
    return ctx.fence
