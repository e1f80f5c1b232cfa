"""A worker's life: register, claim for the free slots, run, settle; stop when told to or when the lease is lost."""

import asyncio
import contextlib
import os
import random
import socket
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fairlead.client.wakeups import Waker
from fairlead.config import Settings
from fairlead.core.jobs.model import Ending, Settlement
from fairlead.core.jobs.pools import POOL, Pools
from fairlead.core.jobs.settle import is_followed
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import DRAINING, RESERVE, WorkerInfo, is_worn
from fairlead.errors import LeaseLost, StoreError, StoreUnavailable
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import CONTROLS_HINT, EVERYONE, HEALTH_HINT, LIMITS_HINT, SCHEDULED_HINT, WORKER_HINT
from fairlead.records.store import Store
from fairlead.telemetry.events import (
    LeaseEnded,
    Telemetry,
    WorkerStarted,
    WorkerStopped,
    WorkerWorn,
)
from fairlead.version import __version__
from fairlead.worker.accounts import Accounts
from fairlead.worker.breakers import Breakers
from fairlead.worker.callbacks import with_deliveries
from fairlead.worker.cancelling import CancelWatch
from fairlead.worker.claimer import Claimer
from fairlead.worker.controls import ControlView
from fairlead.worker.eagerness import Eagerness
from fairlead.worker.health import Health
from fairlead.worker.lease import LeaseClock, boot_time, deadline_from
from fairlead.worker.lost import LostRuns
from fairlead.worker.pace import MOST, Pace
from fairlead.worker.reports import Reports
from fairlead.worker.runner import Runner
from fairlead.worker.settler import ABREAST, Settler
from fairlead.worker.slots import Slots
from fairlead.worker.strays import Strays
from fairlead.worker.terms import Terms
from fairlead.worker.tools import RunTools
from fairlead.worker.trouble import Trouble

TICK = 0.1
LINGER = 0.003
STOP_GRACE = 2.0
MOST_UNSETTLED = 5_000
MOST_CLAIMED = 1 + MOST  # times the slots
SOON = 60.0
SUCCEEDED = State.SUCCEEDED
DIRECTIONS = {DRAINING: None, "stopping": 0.0}  # the seconds that what runs may take, None as the settings say
WAITING = (State.RETRYING, State.SCHEDULED)


class Worker:
    """One worker on one event loop. `keep` is handed its lease once it is registered, and renews it from then on."""

    def __init__(
        self,
        registry: Registry,
        store: Store,
        settings: Settings,
        pools: tuple[str, ...],
        slots: int,
        keep: Callable[[LeaseClock], None],
        telemetry: Telemetry | None = None,
        recycles: bool = False,
        reserve: tuple[str, ...] = (),
    ) -> None:
        self._declared = registry
        self._store = store
        self._settings = settings
        self._keep = keep
        registry = with_deliveries(registry, store, settings)
        self._telemetry = Telemetry() if telemetry is None else telemetry
        self._news = asyncio.Event()  # there may be work, or a reason to stop
        self._freed = asyncio.Event()  # a slot became free, or there is a reason to stop
        self.registered = asyncio.Event()
        self._stop_asked = False
        self._drain_until: float | None = None
        self._recycles = recycles
        self._reserve = {RESERVE: list(reserve)} if reserve else {}
        self.is_worn = False
        self.is_dismissed = False
        self._pace = Pace()
        self._eagerness = Eagerness()
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="fairlead-handler")
        tools = RunTools(store, settings.result_limit)
        self._progress = tools.progress
        self._settler = Settler(store, self._telemetry, self._on_settled, self._progress)
        lost = LostRuns(self._telemetry)
        controls = self._controls = ControlView(store)
        breakers = Breakers(store, controls, self._telemetry)
        self._health = Health(registry, store, controls, breakers, self._telemetry, self._news.set)
        runner = Runner(self._threads, settings.result_limit, lost, tools)
        self._waker = Waker(store)
        self._counts: Counter[State] = Counter()
        self.info = WorkerInfo(
            id=str(uuid.uuid4()),
            host=socket.gethostname(),
            pid=os.getpid(),
            pools=pools,
            types=tuple(sorted(registry)),
            slots=slots,
            version=__version__,
        )
        self._strays = Strays(store, self._telemetry)
        self._claimer = Claimer(
            store, self.info.id, frozenset(pools), registry, lambda pool: self.slots.in_hand(pool), frozenset(reserve),
            controls, breakers, self._strays, self._health.suspects,
        )  # fmt: skip
        tally, terms = self._claimer.tally, Terms(controls.known)
        tally.waits.ahead = lambda: controls.now - time.monotonic()
        controls.watchers += [terms.follow, self._follow_pools]
        self._pools = Pools(controls.known)
        self.slots = Slots(
            slots, registry, runner, lost, self._settler, self._health, self._telemetry, self._on_freed,
            tally, terms,
        )  # fmt: skip
        self._accounts = Accounts(store, self._claimer.queue, tally, frozenset(pools), self.slots.times, bool(reserve))
        self._claimer.queue.differ(self.info.id)
        self._claimer.on_long_jobs = self._accounts.hurry
        self._cancels = CancelWatch(store, self.info.id, self.slots)
        self.reports = Reports(store, self.info.id, self._figures, self._follow)
        self._clock = LeaseClock(self.info.id, boot_time(), settings.lease)

    def stop(self, drain: float | None = None) -> None:
        """Stop claiming, and finish within `drain` seconds; asking again with less time shortens it."""
        until = time.monotonic() + (self._settings.drain if drain is None else drain)
        self._drain_until = until if self._drain_until is None else min(until, self._drain_until)
        self._stop_asked = True
        self.reports.hint()
        self._alert()

    async def run(self) -> None:
        """Work until stopped; LeaseLost if the lease could not be kept."""
        await self._register()
        helpers = [
            *(asyncio.create_task(self._settler.run(), name="fairlead-settler") for _ in range(ABREAST)),
            asyncio.create_task(self._store.jobs.listen(self._on_wake), name="fairlead-listener"),
            asyncio.create_task(self._watch(), name="fairlead-watch"),
            asyncio.create_task(self._accounts.run(), name="fairlead-accounts"),
            asyncio.create_task(self._cancels.run(), name="fairlead-cancels"),
            asyncio.create_task(self._health.run(), name="fairlead-health"),
            asyncio.create_task(self._controls.run(), name="fairlead-controls"),
            asyncio.create_task(self._progress.run(), name="fairlead-progress"),
            asyncio.create_task(self._strays.run(), name="fairlead-strays"),
        ]
        feed = asyncio.create_task(self._work(), name="fairlead-feed")
        try:
            await asyncio.wait([feed, *helpers], return_when=asyncio.FIRST_COMPLETED)
            for task in (feed, *helpers):
                if task.done():
                    task.result()
        finally:
            await _cancel([feed, *helpers])
            await self._waker.close()
            self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def has_stuck_handlers(self) -> bool:
        """Whether handlers still run that cannot be stopped: coroutines that refuse to, or threads."""
        return len(self.slots.lost) > 0 or any(thread.is_alive() for thread in self._threads._threads)

    async def _register(self) -> None:
        await self._store.types.register([self._declared[name].job_type() for name in self._declared])
        await self._health.begin()
        sent_at, lease = boot_time(), self._clock.lease
        try:
            await self._store.workers.register(self.info, lease)
        except StoreUnavailable:  # it may have arrived, and its answer been lost
            await self._store.workers.register(self.info, lease)
        self._clock.renewed(deadline_from(sent_at, lease))
        self._keep(self._clock)
        if self._reserve:
            self.reports.hint()
        self.registered.set()
        self._telemetry.emit(WorkerStarted(self.info.id, self.info.pools, self.slots.size))

    async def _work(self) -> None:
        await self._feed()
        if self._clock.over():
            await self._abandon()
        else:
            await self._drain()

    async def _feed(self) -> None:
        """Keep the slots full until there is a reason to stop."""
        trouble = Trouble(self._telemetry, "claimer")
        while not self._stop_asked and not self._clock.over():
            wanted = await self._capacity()
            if wanted <= 0:
                await _wait(self._freed, TICK)
                continue
            try:
                began, hinted = time.monotonic(), self._claimer.is_hinted
                claims = await self._claimer.take(wanted)
                self._pace.claimed(time.monotonic() - began)
            except StoreError as error:
                await trouble.pause(error)
                continue
            trouble.over()
            if claims or (hinted and not self._claimer.gate.aside):  # what a limit keeps back nobody else can take
                self._eagerness.followed(bool(claims))
            if claims:
                self.slots.admit(claims)
                if len(claims) < wanted or self._claimer.has_unaccounted:  # these start before anything else is done
                    await asyncio.sleep(0)
                    self._claimer.account()
            elif self._claimer.is_held_back:
                await _wait(self._freed, TICK)
            else:
                poll, patience = self._settings.poll, self._claimer.gate.patience()
                await _wait(self._news, min(poll * random.uniform(0.75, 1.25), patience * random.uniform(1.0, 1.2)))
                pause = self._eagerness.pause()
                if pause and self._claimer.is_hinted and not self._claimer.gate.aside:
                    await asyncio.sleep(pause)

    async def _capacity(self) -> int:
        """Free slots plus what will be free in moments; a few slots alone are not worth a claim while others run."""
        if self._settler.backlog > max(MOST_UNSETTLED, MOST_CLAIMED * self.slots.size):
            return 0
        wanted = self._free()
        if 0 < wanted < self.slots.size // 4 and self.slots.running:
            await asyncio.sleep(LINGER)
            wanted = self._free()
        return wanted

    def _free(self) -> int:
        """No more than half of what is allowed in one claim, so that the next is on its way while these jobs run."""
        capacity = self.slots.capacity
        allowed = capacity + self._pace.allowance(capacity)
        return min(allowed - self.slots.taken, max(capacity, allowed // 2))

    async def _drain(self) -> None:
        """Finish what runs until the deadline, give back the rest without burning an attempt, leave the register."""
        self.slots.release_waiting()
        while self.slots.running and not self._clock.over():
            left = (self._drain_until or 0.0) - time.monotonic()
            if left <= 0:
                break
            await _wait(self._freed, min(left, TICK))
        if self._clock.over():
            return await self._abandon()
        released = len(self.slots.running)
        await self._stop_handlers()
        self.slots.give_up(Ending.RELEASED)
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(max(STOP_GRACE, self._clock.deadline - boot_time())):
                await self._settler.flushed()
                await self._health.flush()
                await self.reports.send()
                await self._accounts.flush()
                await self._store.workers.retire(self.info.id)
        self._telemetry.emit(WorkerStopped(self.info.id, released))

    async def _abandon(self) -> None:
        """The lease is gone: stop everything; what ended meanwhile is still offered, and the store refuses it."""
        self._telemetry.emit(LeaseEnded(self.info.id, self._clock.over() or ""))
        self.slots.waiting.clear()
        await self._stop_handlers()
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(STOP_GRACE):
                await self._settler.flushed()
                await self.reports.send()
        raise LeaseLost(f"worker {self.info.id} lost its lease: {self._clock.over()}")

    async def _stop_handlers(self) -> None:
        """Cancel the handlers and give them a moment to end."""
        self.slots.stop_all(Ending.RELEASED)
        until = time.monotonic() + STOP_GRACE
        while self.slots.running and time.monotonic() < until:
            await _wait(self._freed, TICK)

    async def _watch(self) -> None:
        """Look at deadlines every tick, and report figures now and then."""
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            self.slots.stop_overdue(now)
            self.slots.give_back_late(now)
            self._look_for_wear()
            if self._clock.over():
                self._alert()
            await self.reports.look(now)

    def _look_for_wear(self) -> None:
        """Under a supervisor, end early where too many handlers cannot be stopped."""
        lost = len(self.slots.lost)
        if self._recycles and not self._stop_asked and is_worn(lost, self.slots.size):
            self.is_worn = True
            self._telemetry.emit(WorkerWorn(self.info.id, lost))
            self.stop()

    def _figures(self) -> dict[str, Any]:
        ended = {state.value: count for state, count in self._counts.items()}
        now = {"running": len(self.slots.running), "lost_threads": len(self.slots.lost)}
        told = {DRAINING: 1} if self._stop_asked else {}
        return {**ended, **now, "refused": self._settler.refused, **told, **self._reserve}

    def _follow(self, direction: str | None) -> None:
        """Do what an operator wants this worker to do."""
        if direction in DIRECTIONS:
            self.is_dismissed = True
            self.stop(DIRECTIONS[direction])

    def _follow_pools(self, kinds: frozenset[str]) -> None:
        """Want the lease that the pools call for."""
        if POOL in kinds:
            self._clock.want(self._pools.lease(self.info.pools, self._settings.lease))

    def _alert(self) -> None:
        self._news.set()
        self._freed.set()

    def _on_wake(self, hint: str) -> None:
        if hint in (EVERYONE, f"{WORKER_HINT}{self.info.id}"):
            self._cancels.hint()
            self.reports.hint()
        if hint == CONTROLS_HINT:
            self._claimer.hint_controls()
            self._news.set()
        elif hint == LIMITS_HINT:
            if self._claimer.gate.hint():
                self._news.set()
        elif hint == HEALTH_HINT:
            self._health.hint()
        elif hint != SCHEDULED_HINT and (not hint or hint in self.info.pools):
            self._claimer.hint()
            self._news.set()

    def _on_freed(self, ended: int) -> None:
        self._pace.ended(ended, self.slots.taken)
        self._accounts.ended()
        self._freed.set()

    def _on_settled(self, settlements: list[Settlement]) -> None:
        here, elsewhere = self._claimer.gate.freed(settlements)
        if here:
            self._news.set()
        if elsewhere or (here and self._stop_asked):
            self._waker.wake([LIMITS_HINT])
        told = [item for item in settlements if item.state is not SUCCEEDED or item.calls_back]
        if well := len(settlements) - len(told):
            self._counts[SUCCEEDED] += well
        for settlement in told:
            self._counts[settlement.state] += 1
            self._hint_after(settlement)

    def _hint_after(self, settlement: Settlement) -> None:
        """What was given back is for others to take; a job that waits for soon concerns the promoter; from one that has
        ended, another may follow."""
        if settlement.state is State.READY:
            self._waker.wake(self.info.pools)
        elif settlement.state in WAITING and settlement.delay < SOON:
            self._waker.wake([SCHEDULED_HINT])
        elif is_followed(settlement):
            self._waker.wake([EVERYONE])


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so long. It is cleared afterwards, so that one set meanwhile ends the next wait."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    event.clear()
