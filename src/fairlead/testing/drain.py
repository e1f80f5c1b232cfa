"""Doing all work that is due, in the test's own event loop, through the parts that a worker is made of.

No worker is registered and no service runs in the background, so nothing happens between two calls: a test decides when
time passes (ManualClock) and when work is done. What a job leads to at once, such as a job that its handler enqueued,
is done in the same call; a retry that waits, or a job for later, when the test has moved the clock far enough.
"""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator

from fairlead.app import App
from fairlead.core.jobs.model import Claim, Settlement
from fairlead.records.store import Store
from fairlead.recurring.changes import declare
from fairlead.recurring.firing import Recurrer
from fairlead.runtime.breakers import Breakers
from fairlead.runtime.controls import ControlView
from fairlead.runtime.operator import Operator, whoami
from fairlead.scheduler.expire import Expirer
from fairlead.worker.claimer import Claimer
from fairlead.worker.health import Health
from fairlead.worker.runner import Runner
from fairlead.worker.settler import Settler
from fairlead.worker.slots import Slots
from fairlead.worker.threads import HandlerThreads
from fairlead.worker.tools import RunTools

BATCH = 100
TICK = 0.1


async def drain(app: App, pools: tuple[str, ...] | None = None, most: int = 10_000) -> int:
    """Run every job that is due, of these pools or of all; returns how many runs that were, at most about `most`."""
    store = await app.store()
    wanted = frozenset(pools) if pools else frozenset(spec.pool for spec in app.registry.values())
    await _declare(app, store)
    async with _bench(app, store, wanted) as bench:
        await bench.health.begin()
        ran = 0
        while ran < most:
            await _make_ready(app, store)
            bench.claimer.hint()
            claims = await bench.claimer.take(BATCH)
            if not claims:
                break
            await bench.run(claims)
            ran += len(claims)
        return ran


class Bench:
    """The claimer, the slots and the settler of a worker."""

    def __init__(self, app: App, store: Store, pools: frozenset[str], threads: HandlerThreads) -> None:
        tools = RunTools(store, app.settings.result_limit, app.settings.checkpoint_limit)
        controls = ControlView(store)
        breakers = Breakers(store, controls, app.telemetry)
        self.settler = Settler(store, app.telemetry, _ignore, tools.progress)
        self.health = Health(app.registry, store, controls, breakers, app.telemetry, asyncio.Event())
        self.claimer = Claimer(store, str(uuid.uuid4()), pools, app.registry, controls=controls, breakers=breakers)
        runner = Runner(threads, app.settings.result_limit, tools)
        self._slots = Slots(
            BATCH, app.registry, runner, self.settler, self.health, self.claimer.usage, controls, app.telemetry
        )

    async def run(self, claims: list[Claim]) -> None:
        """Run these jobs to their end, timeouts included, and settle them."""
        self._slots.admit(claims)
        while self._slots.taken:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._slots.freed.wait()
            self._slots.freed.clear()
            self._slots.stop_overdue(time.monotonic())
        await self._slots.settled()
        await self.health.flush()


@contextlib.asynccontextmanager
async def _bench(app: App, store: Store, pools: frozenset[str]) -> AsyncIterator[Bench]:
    threads = HandlerThreads(BATCH)
    bench = Bench(app, store, pools, threads)
    settling = asyncio.create_task(bench.settler.run(), name="fairlead-drain")
    try:
        yield bench
    finally:
        settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)
        threads.stop()


async def _declare(app: App, store: Store) -> None:
    """Bring the schedules of the app's code into the store; they fire from the first call on."""
    declared = list(app.registry.schedules.values())
    if declared:
        await declare(store, app.registry.app, declared, Operator(whoami(), "a test declares it"))


async def _make_ready(app: App, store: Store) -> None:
    """Do at once what the services would do in time."""
    recurrer = Recurrer(store, app.telemetry)
    while await recurrer.run_once() == 0.0:
        pass
    expirer = Expirer(store, app.telemetry)
    while await expirer.run_once() == 0.0:
        pass
    while (await store.promotion.promote(1000)).moved:
        pass


def _ignore(settlements: list[Settlement]) -> None:
    """Nobody counts here."""
