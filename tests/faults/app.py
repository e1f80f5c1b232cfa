"""The application that fault tests run: every handler writes what it does to a journal that survives a kill."""

import asyncio
import contextlib
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import fairlead

app = fairlead.App()
JOURNAL = os.environ.get("FAULTS_JOURNAL", os.devnull)


def note(what: str, ctx: fairlead.Context) -> None:
    """Append one line; the kernel keeps it whatever happens to this process."""
    line = f"{what} {ctx.job_id} {ctx.attempt} {ctx.fence} {os.getpid()} {time.time():.6f}\n"
    journal = os.open(JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(journal, line.encode())
    os.close(journal)


@app.handler("step", retry=fairlead.Retry(attempts=3, first="100ms", factor=1.0))
async def step(ctx: fairlead.Context, seconds: float = 0.0) -> int:
    """Async work."""
    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)
    return ctx.fence


@app.handler(
    "limited",
    limit=[fairlead.Limit("total", concurrent=5), fairlead.Limit("each", concurrent=2, key="key")],
)
async def limited(ctx: fairlead.Context, key: str, seconds: float) -> None:
    """Work under two limits."""
    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)


@app.handler("block_loop")
async def block_loop(ctx: fairlead.Context, seconds: float) -> int:
    """Stops the event loop."""
    note("start", ctx)
    time.sleep(seconds)  # noqa: ASYNC251
    note("end", ctx)
    return ctx.fence


@app.handler("start_program")
def start_program(ctx: fairlead.Context, heeds: bool = True, detached: bool = False) -> int:
    """Starts a program and does not wait for it."""
    program = "import time; time.sleep(600)"
    if not heeds:
        program = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); {program}"
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=detached, stdout=subprocess.PIPE)
    if not heeds:
        assert process.stdout is not None
        process.stdout.readline()
    note("start", ctx)
    return process.pid


@app.handler("hold_gil")
def hold_gil(ctx: fairlead.Context, seconds: int) -> int:
    """Stops every thread of the process: a foreign function that keeps the interpreter lock."""
    note("start", ctx)
    ctypes.PyDLL(None).sleep(seconds)
    note("end", ctx)
    return ctx.fence


@app.handler("wait_for_file")
def wait_for_file(ctx: fairlead.Context, path: str) -> str:
    """Runs in a thread, which nobody can stop, until the file exists."""
    note("start", ctx)
    while not Path(path).exists():
        time.sleep(0.01)
    note("end", ctx)
    return str(os.getpid())


@app.handler("overrun", timeout="200ms", retry=fairlead.Retry(attempts=1))
def overrun(ctx: fairlead.Context) -> None:
    """A thread that goes on long after its timeout."""
    note("start", ctx)
    time.sleep(60)


@app.handler("ignore_stop", timeout="200ms", retry=fairlead.Retry(attempts=1))
async def ignore_stop(ctx: fairlead.Context) -> None:
    """A coroutine that swallows every cancellation."""
    note("start", ctx)
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


@app.handler("kill_worker")
async def kill_worker(ctx: fairlead.Context) -> None:
    """Takes its process down every time."""
    note("start", ctx)
    os.kill(os.getpid(), 9)


@app.handler("pay", retry=fairlead.Retry(attempts=1))
async def pay(ctx: fairlead.Context, crash: bool = False, fail_until: str = "") -> str:
    """Charges once, then dies with its process, or fails until a file exists."""

    def charge() -> str:
        note("charge", ctx)
        return f"receipt {ctx.fence}"

    receipt: str = await ctx.once("charge", charge)
    if crash and ctx.first_attempt:
        os.kill(os.getpid(), 9)
    if fail_until and not await asyncio.to_thread(os.path.exists, fail_until):
        raise ValueError("the printer is out of paper")
    return receipt


@app.handler("book", retry=fairlead.Retry(attempts=3, first="100ms", factor=1.0))
async def book(ctx: fairlead.Context, seconds: float = 0.0, crash: bool = False) -> int:
    """Writes to the user's own table in the transaction that its job ends in."""
    async with ctx.transaction() as connection:
        await connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])
        note("start", ctx)
    await asyncio.sleep(seconds)
    if crash and ctx.first_attempt:
        os.kill(os.getpid(), 9)
    return ctx.fence


@app.handler("items", retry=fairlead.Retry(attempts=20, first="10ms", factor=1.0))
async def items(ctx: fairlead.Context, total: int, seconds: float) -> int:
    """A long job that goes on where it was."""
    async for item in ctx.resume(range(total)):
        await asyncio.sleep(seconds)
        note(str(item), ctx)
    return ctx.attempt


@app.handler("thread_items")
def thread_items(ctx: fairlead.Context, total: int, seconds: float) -> int:
    """The same in a thread."""
    for item in ctx.blocking.resume(range(total)):
        time.sleep(seconds)
        note(str(item), ctx)
    return ctx.attempt


@app.handler("move", retry=fairlead.Retry(attempts=20, first="10ms", factor=1.0))
async def move(ctx: fairlead.Context, total: int, seconds: float) -> int:
    """A long job whose rows are committed with its checkpoints."""
    async for item in ctx.resume(range(total)):
        async with ctx.transaction() as connection:
            await connection.execute("insert into moved values (%s)", [item])
            await ctx.checkpoint()
        note(str(item), ctx)
        await asyncio.sleep(seconds)
    return ctx.attempt
