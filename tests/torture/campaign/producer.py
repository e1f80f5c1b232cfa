"""A process that submits jobs and journals each number before it asks, and each id that was accepted.

Half of the submissions have an idempotency key and are repeated until they are accepted. A failed one without a key is
given up: it may have been stored or not, but not twice.
"""

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import fairlead
from tests.torture.campaign.app import app
from tests.torture.campaign.journal import append

LOOPS = 4  # submissions at the same time, so that some share a transaction
RATE = 8.0  # submissions per second of each loop
PAUSE = 0.2
TYPES = ("step", "step", "step", "block", "flaky")
SECONDS = (0.0, 0.02, 0.02, 0.1, 0.1, 0.3, 0.3, 0.3, 1.0, 1.0, 4.0)  # the last one is longer than a lease
TENANTS = ("acme", "globex", "initech")

Submit = Callable[..., Awaitable[fairlead.Job]]


async def produce(submit: Submit, journal: Path, name: str, random: Random, stopped: asyncio.Event) -> None:
    """Submit one job after the other until told to stop."""
    for count in itertools.count():
        if stopped.is_set():
            return
        number = f"{name}-{os.getpid()}-{count}"
        append(journal, "asked", number, "-")
        key = number if random.random() < 0.5 else None
        if (job := await submit_one(submit, number, key, random, stopped)) is not None:
            append(journal, "accepted", number, job.id)
        await asyncio.sleep(random.expovariate(RATE))


async def submit_one(
    submit: Submit, number: str, key: str | None, random: Random, stopped: asyncio.Event
) -> fairlead.Job | None:
    """Submit a job, with a key as often as is needed; None if it was not accepted."""
    type_name, seconds = random.choice(TYPES), random.choice(SECONDS)
    if type_name == "block":
        seconds = min(seconds, 0.1)
    options: dict[str, Any] = {"tenant": random.choice(TENANTS)}
    if key is not None:
        options |= {"idempotency_key": key, "idempotency_scope": "forever"}
    while True:
        try:
            return await submit(type_name, {"number": number, "seconds": seconds}, **options)
        except fairlead.FairleadError as error:
            print(f"{number}: {type(error).__name__}: {error}", flush=True)
            if key is None or stopped.is_set():
                return None
            await asyncio.sleep(PAUSE)


async def main(name: str, seed: str, address: str, key: str) -> None:
    """Submit over HTTP where there is an address, else to the database."""
    journal = Path(os.environ["FAULTS_JOURNAL"]).with_name("submissions")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    client = fairlead.HTTPClient(address, key) if address else app
    submit: Submit = client.enqueue
    try:
        async with asyncio.TaskGroup() as group:
            for loop in range(LOOPS):
                label = f"{name}.{loop}"
                group.create_task(produce(submit, journal, label, Random(f"{seed}{label}"), stopped))
    finally:
        await client.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
