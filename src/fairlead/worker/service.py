"""A worker's life: register, claim for the free slots, run, settle; stop when told to or when the lease is lost."""

import asyncio
import contextlib
import os
import random
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

from fairlead.config import Settings
from fairlead.core.jobs.model import Ending
from fairlead.core.jobs.pools import POOL, Pools
from fairlead.core.jobs.workers import DRAINING, RESERVE, WorkerInfo, is_worn
from fairlead.errors import LeaseLost, StoreError, StoreUnavailable
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import CONTROLS_HINT, EVERYONE, HEALTH_HINT, LIMITS_HINT, SCHEDULED_HINT, WORKER_HINT
from fairlead.records.store import Store
from fairlead.runtime.boot_clock import boot_time
from fairlead.runtime.breakers import Breakers
from fairlead.runtime.controls import ControlView
from fairlead.runtime.hints import HintSender
from fairlead.runtime.outage import Outage
from fairlead.runtime.periodic import Periodic, wait_for
from fairlead.telemetry.events import LeaseEnded, Telemetry, WorkerStarted, WorkerStopped, WorkerWorn
from fairlead.version import __version__
from fairlead.worker.accounts import Accounts
from fairlead.worker.callbacks import with_deliveries
from fairlead.worker.claimer import Claimer
from fairlead.worker.health import Health
from fairlead.worker.hints import Hints
from fairlead.worker.lease import LeaseClock, deadline_from
from fairlead.worker.pace import MOST
from fairlead.worker.runner import Runner
from fairlead.worker.settler import ABREAST, Settler
from fairlead.worker.slots import Slots
from fairlead.worker.threads import HandlerThreads
from fairlead.worker.tools import RunTools
from fairlead.worker.unanswered_claims import UnansweredClaims

TICK = 0.1
LINGER = 0.003
STOP_GRACE = 2.0
MOST_UNSETTLED = 5_000
REPORT_EVERY = 5.0
REPORT_UNCHANGED_EVERY = 15.0
CANCELS_EVERY = 3.0
DIRECTIONS = {DRAINING: None, "stopping": 0.0}  # the seconds that what runs may take, None as the settings say


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
        registry = with_deliveries(registry, store, settings)
        self._store = store
        self._settings = settings
        self._keep = keep
        self._telemetry = telemetry = Telemetry() if telemetry is None else telemetry
        self._recycles = recycles
        self._reserve = {RESERVE: list(reserve)} if reserve else {}
        self.info = _info(registry, pools, slots)
        self.registered = asyncio.Event()
        self.is_worn = False
        self.is_dismissed = False
        self._news = asyncio.Event()  # there may be work, or a reason to stop
        self._stop_asked = False
        self._drain_until: float | None = None
        self._clock = LeaseClock(self.info.id, boot_time(), settings.lease)

        self._controls = ControlView(store)
        self._controls.watchers.append(self._follow_pools)
        self._pools = Pools(self._controls.known)
        breakers = Breakers(store, self._controls, telemetry)
        self._health = Health(registry, store, self._controls, breakers, telemetry, self._news)
        self._unanswered = UnansweredClaims(store, telemetry)
        self._claimer = Claimer(
            store, self.info.id, frozenset(pools), registry, frozenset(reserve),
            self._controls, breakers, self._unanswered, self._health.tripping,
        )  # fmt: skip
        self._waker = HintSender(store)
        self._hints = Hints(self._waker, pools, self._claimer.gate, self._news)
        self._threads = HandlerThreads(slots)
        tools = RunTools(store, settings.result_limit, settings.checkpoint_limit)
        self._settler = Settler(store, telemetry, self._hints.after, tools.progress)
        runner = Runner(self._threads, settings.result_limit, tools)
        usage = self._claimer.usage
        self.slots = Slots(slots, registry, runner, self._settler, self._health, usage, self._controls, telemetry)
        self._accounts = Accounts(
            store,
            self._claimer.queue,
            usage,
            frozenset(pools),
            self.slots.times,
            bool(reserve),
            self._claimer.long_jobs,
        )
        self._told: tuple[dict[str, Any], float] = ({}, 0.0)  # the last report, and when it was sent
        self._lease_over = asyncio.Event()
        self._reports = Periodic(self._report, REPORT_EVERY)
        self._cancels = Periodic(self._look_for_cancels, CANCELS_EVERY)
        self._repeated = [
            self._reports,
            self._cancels,
            *self._accounts.repeated,
            *(part.repeated for part in (self._health, self._controls, self._unanswered)),
            *(book.repeated for book in (tools.progress, tools.checkpoints)),
        ]

    def stop(self, drain: float | None = None) -> None:
        """Stop claiming, and finish within `drain` seconds; asking again with less time shortens it."""
        until = time.monotonic() + (self._settings.drain if drain is None else drain)
        self._drain_until = until if self._drain_until is None else min(until, self._drain_until)
        self._stop_asked = self._hints.is_stopping = True
        self._reports.hint()
        self._alert()

    async def run(self) -> None:
        """Work until stopped; LeaseLost if the lease could not be kept."""
        if not await self._register():
            return
        parts = [
            self._work(),
            self._watch(),
            self._store.jobs.listen(self._on_wake),
            *(self._settler.run() for _ in range(ABREAST)),
            *(periodic.run() for periodic in self._repeated),
        ]
        tasks = [asyncio.ensure_future(part) for part in parts]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._waker.close()
            self._threads.stop()

    @property
    def has_stuck_handlers(self) -> bool:
        """Whether handlers still run that cannot be stopped: coroutines that refuse to, or threads."""
        return self.slots.lost > 0 or self._threads.has_running_calls

    async def _register(self) -> bool:
        """Register, and wait for a store that is away; False if told to stop meanwhile."""
        trouble = Outage(self._telemetry, "worker")
        while not self._stop_asked:
            try:
                await self._try_to_register()
            except StoreUnavailable as error:  # it may have arrived, and its answer been lost
                await trouble.pause(error)
            else:
                trouble.over()
                return True
        return False

    async def _try_to_register(self) -> None:
        await self._store.types.register([self._declared[name].job_type() for name in self._declared])
        await self._health.begin()
        sent_at, lease = boot_time(), self._clock.lease
        await self._store.workers.register(self.info, lease)
        self._clock.renewed(deadline_from(sent_at, lease))
        self._keep(self._clock)
        if self._reserve:
            self._reports.hint()
        self.registered.set()
        self._telemetry.emit(WorkerStarted(self.info.id, self.info.pools, self.slots.size))

    async def _work(self) -> None:
        """Feed the slots until there is a reason to stop; a lost lease is one even while a claim has no answer."""
        feeding, ending = asyncio.ensure_future(self._feed()), asyncio.ensure_future(self._lease_over.wait())
        try:
            await asyncio.wait([feeding, ending], return_when=asyncio.FIRST_COMPLETED)
            if feeding.done():
                feeding.result()
            feeding.cancel()
            await (self._abandon() if self._clock.over() else self._drain())
        finally:
            for task in (feeding, ending):
                task.cancel()
            await asyncio.gather(feeding, ending, return_exceptions=True)

    async def _feed(self) -> None:
        """Keep the slots full until there is a reason to stop."""
        trouble = Outage(self._telemetry, "claimer")
        while not self._stop_asked and not self._clock.over():
            wanted = await self._capacity()
            if wanted <= 0:
                await wait_for(self.slots.freed, TICK)
                continue
            try:
                began = time.monotonic()
                self._accounts.settle_if_due(began)
                claims = await self._claimer.take(wanted, self.slots.count, self._accounts.announce)
                self.slots.pace.claimed(time.monotonic() - began)
            except StoreError as error:
                await trouble.pause(error)
                continue
            trouble.over()
            if claims:
                self.slots.admit(claims)
                await asyncio.sleep(0)  # they start before anything else is claimed
            elif self._claimer.is_held_back:
                await wait_for(self.slots.freed, TICK)
            else:
                poll, patience = self._settings.poll, self._claimer.gate.patience()
                await wait_for(self._news, min(poll * random.uniform(0.75, 1.25), patience * random.uniform(1.0, 1.2)))

    async def _capacity(self) -> int:
        """Free slots plus what will be free in moments; a few slots alone are not worth a claim while others run."""
        if self._settler.backlog > max(MOST_UNSETTLED, MOST + self.slots.size):
            return 0
        wanted = self.slots.free
        if 0 < wanted < self.slots.size // 4 and self.slots.running:
            await asyncio.sleep(LINGER)
            wanted = self.slots.free
        return wanted

    async def _drain(self) -> None:
        """Finish what runs until the deadline, give back the rest without burning an attempt, leave the register."""
        self.slots.release_waiting()
        while self.slots.running and not self._clock.over():
            left = (self._drain_until or 0.0) - time.monotonic()
            if left <= 0:
                break
            await wait_for(self.slots.freed, min(left, TICK))
        if self._clock.over():
            return await self._abandon()
        released = len(self.slots.running)
        await self._stop_handlers()
        self.slots.give_up_all(Ending.RELEASED)
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(max(STOP_GRACE, self._clock.deadline - boot_time())):
                await self.slots.settled()
                await self._health.flush()
                await self._report()
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
                await self.slots.settled()
                await self._report()
        raise LeaseLost(f"worker {self.info.id} lost its lease: {self._clock.over()}")

    async def _stop_handlers(self) -> None:
        """Cancel the handlers, and give them a moment to end."""
        self.slots.stop_all(Ending.RELEASED)
        until = time.monotonic() + STOP_GRACE
        while self.slots.running and time.monotonic() < until:
            await wait_for(self.slots.freed, TICK)

    async def _watch(self) -> None:
        """Look at what has a deadline, every tick."""
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            self.slots.stop_overdue(now)
            self.slots.release_late(now)
            self._accounts.settle_if_due(now)
            self._look_for_wear()
            if self._clock.over():
                self._lease_over.set()
                self._alert()

    def _look_for_wear(self) -> None:
        """Under a supervisor, end early where too many handlers cannot be stopped."""
        lost = self.slots.lost
        if self._recycles and not self._stop_asked and is_worn(lost, self.slots.size):
            self.is_worn = True
            self._telemetry.emit(WorkerWorn(self.info.id, lost))
            self.stop()

    async def _look_for_cancels(self) -> None:
        """Ask which of the jobs in this worker's hands are to be cancelled."""
        if self.slots.taken:
            self.slots.cancel(await self._store.changes.cancel_requests(self.info.id))

    async def _report(self) -> None:
        """Store this worker's figures, now and then also unchanged ones; the answer says what an operator wants."""
        figures, (told, told_at) = self._figures(), self._told
        if figures == told and time.monotonic() < told_at + REPORT_UNCHANGED_EVERY:
            return
        direction = await self._store.workers.report(self.info.id, figures)
        self._told = (figures, time.monotonic())
        if direction in DIRECTIONS:
            self.is_dismissed = True
            self.stop(DIRECTIONS[direction])

    def _figures(self) -> dict[str, Any]:
        ended = {state.value: count for state, count in self._settler.counts.items()}
        now = {"running": len(self.slots.running), "lost_threads": self.slots.lost}
        stopping = {DRAINING: 1} if self._stop_asked else {}
        return {**ended, **now, "refused": self._settler.refused, **stopping, **self._reserve}

    def _follow_pools(self, kinds: frozenset[str]) -> None:
        """Want the lease that the pools call for."""
        if POOL in kinds:
            self._clock.want(self._pools.lease(self.info.pools, self._settings.lease))

    def _alert(self) -> None:
        self._news.set()
        self.slots.freed.set()

    def _on_wake(self, hint: str) -> None:
        if hint in (EVERYONE, f"{WORKER_HINT}{self.info.id}"):
            self._cancels.hint()
            self._told = ({}, 0.0)
            self._reports.hint()
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


def _info(registry: Registry, pools: tuple[str, ...], slots: int) -> WorkerInfo:
    return WorkerInfo(
        id=str(uuid.uuid4()),
        host=socket.gethostname(),
        pid=os.getpid(),
        pools=pools,
        types=tuple(sorted(registry)),
        slots=slots,
        version=__version__,
    )
