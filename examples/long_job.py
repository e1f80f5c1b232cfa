"""A long job whose process is killed, and which goes on where it was.

Run it with

    python -m examples.long_job

It uses long_job.db in the current folder, or the database that FAIRLEAD_DATABASE_URL names. You will see a job work on
60 rows. Its process is killed with SIGKILL after 20 rows and again after 40, so it has no chance to clean up. Each time
a new process takes the job over, skips the rows that were done when its place was last saved, and goes on in the same
attempt. A few rows are done twice: those of the last second before each kill.
"""

import asyncio
import os
import signal
import sys
import time

import fairlead

ROWS = 60
KILL_AFTER = (20, 40)

app = fairlead.App(
    os.environ.get("FAIRLEAD_DATABASE_URL") or "sqlite:///long_job.db", lease="2s", heartbeat="500ms", poll="100ms"
)


@app.handler("count_rows")
async def count_rows(ctx: fairlead.Context) -> int:
    """Work on each row, a tenth of a second each."""
    async for row in ctx.resume(range(1, ROWS + 1)):
        await asyncio.sleep(0.1)
        print(f"  row {row} in process {os.getpid()}, attempt {ctx.attempt}", flush=True)
    return ctx.attempt


async def work() -> None:
    """Run a worker until its parent ends it."""
    async with app, app.worker(concurrency=1):
        await asyncio.Event().wait()


async def main() -> None:
    """Submit the job, and kill the process that works on it."""
    await app.migrate()
    async with app:
        job = await count_rows.enqueue()
        ended = asyncio.create_task(job.wait(timeout=120))
        for rows in (*KILL_AFTER, None):
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "examples.long_job", "work", stdout=asyncio.subprocess.PIPE
            )
            await follow(worker, rows, ended)
            worker.send_signal(signal.SIGKILL)
            await worker.wait()
            if rows is not None:
                print(f"killed after row {rows}; the lease of {app.settings.lease:g} s has to run out", flush=True)
        print(f"done in attempt {await ended}")
        last = (await (await app.store()).checkpoints.kept(job.id))[0]
        print(f"resumed {last.resumptions} times; the last of its checkpoints has {last.size} bytes")


async def follow(worker: asyncio.subprocess.Process, rows: int | None, ended: asyncio.Task[int]) -> None:
    """Print what the worker says until it has done so many rows, or until the job has ended."""
    assert worker.stdout is not None
    print(f"process {worker.pid} starts at {time.strftime('%X')}", flush=True)
    while not ended.done():
        line = asyncio.create_task(worker.stdout.readline())
        await asyncio.wait((line, ended), return_when=asyncio.FIRST_COMPLETED)
        if not line.done():
            line.cancel()
            return
        text = line.result().decode()
        print(text, end="", flush=True)
        if rows is not None and f"row {rows} " in text:
            return


if __name__ == "__main__":
    asyncio.run(work() if "work" in sys.argv else main())
