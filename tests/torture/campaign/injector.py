"""Faults at random: `plan` draws all of them from a seed, `Injector` applies them to a world."""

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import NamedTuple

import apsw
import psycopg

from tests.faults.conftest import takes_writes
from tests.support.processes import LEASE
from tests.torture.campaign.journal import append
from tests.torture.campaign.world import CLIENTS, SERVER, WORKERS, World

MEAN_PAUSE = 3.0
LONGER_THAN_LEASE = (1.2 * LEASE, 2.5 * LEASE)
CLEARED_SECONDS = 15.0  # for which an armed cut waits for something to cut
SMALL = 100  # bytes; what is cut off is larger, and so a statement with data or a commit
BLOCK = 1 << 16
TERMINATE = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and random() < {share}
"""
READ_ONLY = "alter database campaign set default_transaction_read_only = on"
WRITABLE = "alter database campaign reset default_transaction_read_only"

Kinds = dict[str, tuple[int, tuple[str, ...]]]  # how often each kind is drawn, and whom it hits

EVERYWHERE: Kinds = {
    "kill child": (4, WORKERS),
    "kill group": (2, WORKERS),
    "kill supervisor": (2, WORKERS),
    "kill client": (2, CLIENTS),
    "kill HTTP server": (1, (SERVER,)),
    "freeze group": (2, WORKERS),
    "freeze child": (1, WORKERS),
}
OF_STORE: dict[str, Kinds] = {
    "sqlite": {
        "disk full": (2, ("database",)),
        "write lock held": (1, ("database",)),
    },
    "postgres": {
        "restart": (1, ("database",)),
        "terminate backends": (2, ("database",)),
        "read-only": (1, ("database",)),
        "cut a write": (4, (WORKERS[1], CLIENTS[1])),
        "partition": (2, (WORKERS[1], CLIENTS[1])),
    },
}
OUTAGES = ("disk full", "write lock held", "restart", "read-only")  # nobody can work meanwhile


class Fault(NamedTuple):
    """A fault to come: when it begins, whom it hits, and how long it lasts if it does."""

    at: float
    kind: str
    target: str
    seconds: float
    dice: float


class Injected(NamedTuple):
    """A fault that happened, in monotonic time; the processes that it hit, or None if it hit all."""

    kind: str
    begin: float
    end: float
    pids: frozenset[int] | None


def plan(store: str, seconds: float, seed: str) -> list[Fault]:
    """The faults of a campaign, all of which begin early enough to be over when it ends."""
    random = Random(seed)
    kinds = EVERYWHERE | OF_STORE[store]
    faults: list[Fault] = []
    at = random.expovariate(1 / MEAN_PAUSE)
    while at < seconds - LONGER_THAN_LEASE[1]:
        (kind,) = random.choices(list(kinds), [weight for weight, _ in kinds.values()])
        target = random.choice(kinds[kind][1])
        faults.append(Fault(at, kind, target, random.uniform(*LONGER_THAN_LEASE), random.random()))
        at += random.expovariate(1 / MEAN_PAUSE)
    return faults


class Injector:
    """Applies faults side by side; one whose target still suffers from another is left out and counted."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._busy: set[str] = set()
        self.injected: list[Injected] = []
        self.left_out: Counter[str] = Counter()
        self._apply: dict[str, Callable[[Fault], Awaitable[frozenset[int] | None]]] = {
            "kill child": self._kill_child,
            "kill group": self._kill_group,
            "kill supervisor": self._kill_supervisor,
            "kill client": self._kill_group,
            "kill HTTP server": self._kill_group,
            "freeze group": self._freeze_group,
            "freeze child": self._freeze_child,
            "disk full": self._fill_disk,
            "write lock held": self._hold_write_lock,
            "restart": self._restart,
            "terminate backends": self._terminate_backends,
            "read-only": self._make_read_only,
            "cut a write": self._cut,
            "partition": self._partition,
        }

    async def run(self, faults: list[Fault], seconds: float) -> None:
        """Apply each fault at its time; returns when all are over and the time is up."""
        begin = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                await self._sleep_until(begin + fault.at)
                group.create_task(self._inject(fault))
        await self._sleep_until(begin + seconds)

    async def _sleep_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.5))
            if not self._busy:
                self._world.replace_ended()

    async def _inject(self, fault: Fault) -> None:
        if fault.target in self._busy or (fault.kind == "disk full" and self._world.disk is None):
            self.left_out[fault.kind] += 1
            return
        self._busy.add(fault.target)
        try:
            begin = time.monotonic()
            pids = await self._apply[fault.kind](fault)
            self.injected.append(Injected(fault.kind, begin, time.monotonic(), pids))
            append(self._world.folder / "faults", begin, time.monotonic(), fault.kind, fault.target, *(pids or ()))
        except LookupError:
            self.left_out[fault.kind] += 1
        finally:
            self._busy.discard(fault.target)

    async def _kill_child(self, fault: Fault) -> frozenset[int]:
        child = self._a_child(fault)
        os.kill(child, signal.SIGKILL)
        return frozenset({child})

    async def _kill_group(self, fault: Fault) -> frozenset[int]:
        actor = self._world.actors[fault.target]
        children = frozenset(actor.children())
        actor.signal_group(signal.SIGKILL)
        await self._start_again(fault)
        return children

    async def _kill_supervisor(self, fault: Fault) -> frozenset[int]:
        """Its children are orphans, and end what they can within their leases."""
        actor = self._world.actors[fault.target]
        children = frozenset(actor.children())
        actor.process.kill()
        await self._start_again(fault)
        return children

    async def _start_again(self, fault: Fault) -> None:
        await asyncio.to_thread(self._world.actors[fault.target].process.wait)
        self._world.start(fault.target)

    async def _freeze_group(self, fault: Fault) -> frozenset[int]:
        actor = self._world.actors[fault.target]
        pids = frozenset(actor.children())
        await self._freeze(lambda number: actor.signal_group(number), fault.seconds)
        return pids

    async def _freeze_child(self, fault: Fault) -> frozenset[int]:
        """Its supervisor keeps its lease, so its jobs stay with it."""
        child = self._a_child(fault)

        def send(number: signal.Signals) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

        await self._freeze(send, fault.seconds)
        return frozenset({child})

    async def _freeze(self, send: Callable[[signal.Signals], None], seconds: float) -> None:
        """Stop processes where they hold no lock of a SQLite file, which would stop everybody else too."""
        send(signal.SIGSTOP)
        while self._world.server is None and not await asyncio.to_thread(is_unlocked, self._world.url):
            send(signal.SIGCONT)
            await asyncio.sleep(0.05)
            send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        send(signal.SIGCONT)

    def _a_child(self, fault: Fault) -> int:
        """One child of a worker; LookupError if it has none."""
        children = sorted(self._world.actors[fault.target].children())
        return children[int(fault.dice * len(children))]

    async def _fill_disk(self, fault: Fault) -> None:
        assert self._world.disk is not None
        filler = self._world.disk / "filler"
        try:
            await asyncio.to_thread(fill, str(filler))
            await asyncio.sleep(fault.seconds)
        finally:
            filler.unlink()

    async def _hold_write_lock(self, fault: Fault) -> None:
        with sqlite_write_lock(self._world.url):
            await asyncio.sleep(fault.seconds)

    async def _restart(self, fault: Fault) -> None:
        assert self._world.server is not None
        await asyncio.to_thread(self._world.server.restart, "immediate")

    async def _terminate_backends(self, fault: Fault) -> frozenset[int]:
        await self._run_sql(TERMINATE.format(share=1 if fault.dice < 0.3 else 0.3))
        return frozenset()

    async def _make_read_only(self, fault: Fault) -> None:
        """What a switch to a replica looks like: every session may only read."""
        try:
            await self._run_sql(READ_ONLY, TERMINATE.format(share=1))
            await asyncio.sleep(fault.seconds)
        finally:
            await self._run_sql(WRITABLE, TERMINATE.format(share=1))

    async def _run_sql(self, *statements: str) -> None:
        def run() -> None:
            with psycopg.connect(self._world.url, autocommit=True) as database:
                database.execute("set default_transaction_read_only = off")
                for statement in statements:
                    database.execute(statement.encode())

        await asyncio.to_thread(run)

    async def _cut(self, fault: Fault) -> frozenset[int]:
        proxy = self._world.proxies[fault.target]
        cuts = proxy.cuts
        proxy.cut_once(lambda data: len(data) > SMALL, deliver=fault.dice < 0.5)
        deadline = time.monotonic() + CLEARED_SECONDS
        while proxy.cuts == cuts:
            if time.monotonic() > deadline:
                proxy.cut_once(lambda data: False, deliver=False)
                raise LookupError("nothing was written")
            await asyncio.sleep(0.02)
        return frozenset(self._world.actors[fault.target].children())

    async def _partition(self, fault: Fault) -> frozenset[int]:
        proxy = self._world.proxies[fault.target]
        pids = frozenset(self._world.actors[fault.target].children())
        proxy.hold()
        await asyncio.sleep(fault.seconds)
        proxy.let_go()
        return pids


def is_unlocked(url: str) -> bool:
    """Whether nobody holds the write lock of a SQLite file for long; a full disk is no lock."""
    with contextlib.suppress(apsw.IOError, apsw.FullError):
        return takes_writes(url)
    return True


def fill(path: str) -> None:
    """Write a file until there is no room left."""
    filler = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (BLOCK, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(filler, b"\0" * size)
    finally:
        os.close(filler)


@contextlib.contextmanager
def sqlite_write_lock(url: str) -> Iterator[None]:
    """Hold the write lock of a SQLite file."""
    with contextlib.closing(apsw.Connection(url.removeprefix("sqlite:///"))) as connection:
        connection.set_busy_timeout(10_000)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
