"""A worker process under a supervisor: its end of the socket, its signals, its exit codes."""

import asyncio
import contextlib
import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any

from fairlead.errors import LeaseLost, StoreUnavailable
from fairlead.records.store import Store
from fairlead.runtime.boot_clock import boot_time
from fairlead.runtime.outage import Outage
from fairlead.telemetry.events import Telemetry
from fairlead.worker.lease import LeaseClock
from fairlead.worker.service import STOP_GRACE, Worker
from fairlead.worker.spawn import SOCKET_VARIABLE
from fairlead.worker.supervisor import EXIT_DISMISSED, EXIT_RECYCLE

EXIT_LEASE_LOST = 70
LOOK_EVERY = 0.5
ALIVE_EVERY = 1.0


class SupervisorSocket:
    """This process's end of the socket to its supervisor, which says there that it runs."""

    def __init__(self) -> None:
        self.end = socket.socket(fileno=int(os.environ[SOCKET_VARIABLE]))
        self._runs = False

    def runs(self) -> bool:
        """Block until the supervisor says that it runs; False where it has ended."""
        if not self._runs:
            self.end.setblocking(True)
            with contextlib.suppress(OSError):
                self._runs = bool(self.end.recv(1))
        return self._runs

    async def until_it_runs(self) -> bool:
        """The same without blocking the event loop."""
        self.end.setblocking(False)
        with contextlib.suppress(OSError):
            self._runs = bool(await asyncio.get_running_loop().sock_recv(self.end, 1))
        return self._runs


class SupervisorLink:
    """Hears of renewals in a thread, and ends the process if the event loop does not react to a lost lease."""

    def __init__(self, supervisor: SupervisorSocket) -> None:
        self._socket = supervisor.end
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._received = b""
        self._clock: LeaseClock | None = None
        self._worker: Worker | None = None
        self._open = True

    def attach(self, worker: Worker) -> None:
        """The worker to stop when the supervisor is gone."""
        self._worker = worker

    def keep(self, clock: LeaseClock) -> None:
        """Hand a registered worker's lease to the supervisor."""
        self._clock = clock
        clock.catch_up = self._read
        clock.wants = lambda lease: self._say({"lease": lease})
        self._say({"worker": clock.worker_id, "deadline": clock.deadline, "lease": clock.lease})
        threading.Thread(target=self._listen, args=(clock,), name="fairlead-link", daemon=True).start()

    async def say_alive(self) -> None:
        """Tell the supervisor now and then that the event loop answers; a single byte is never sent in part."""
        while True:
            await asyncio.sleep(ALIVE_EVERY)
            with contextlib.suppress(OSError):
                self._socket.send(b"\n")

    def _say(self, message: dict[str, float | str]) -> None:
        with contextlib.suppress(OSError):  # one that is gone is noticed where it is listened to
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _listen(self, clock: LeaseClock) -> None:
        while not self._loop.is_closed():
            if self._open:
                self._wait_and_read(clock)
            else:
                time.sleep(LOOK_EVERY)
            if clock.over() and boot_time() > clock.deadline + 2 * STOP_GRACE:
                os._exit(EXIT_LEASE_LOST)

    def _wait_and_read(self, clock: LeaseClock) -> None:
        select.select([self._socket], [], [], LOOK_EVERY)
        self._read()
        if not self._open:
            self._stop_orphan(clock)

    def _read(self) -> None:
        """Take in what the supervisor has sent so far."""
        with self._lock:
            while self._open:
                try:
                    part = self._socket.recv(4096)
                except BlockingIOError:
                    return
                except OSError:
                    part = b""
                self._open = bool(part)
                *lines, self._received = (self._received + part).split(b"\n")
                for line in filter(None, lines):
                    self._apply(json.loads(line))

    def _apply(self, message: dict[str, Any]) -> None:
        assert self._clock is not None
        if "lost" in message:
            self._clock.lose(str(message["lost"]))
        else:
            self._clock.trouble = message.get("trouble")
            self._clock.renewed(float(message["renewed"]))

    def _stop_orphan(self, clock: LeaseClock) -> None:
        """Nobody renews any more: finish within half of what is left, so that the rest can be given back in time."""
        left = max(0.0, clock.deadline - boot_time()) / 2
        if self._worker is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._worker.stop, left)


async def open_store(store: Store, telemetry: Telemetry, supervisor: SupervisorSocket) -> bool:
    """Open the store and wait for the supervisor; False if a signal or the supervisor's end came first.

    A store that is away is waited for.
    """
    parent, stopped = os.getppid(), asyncio.Event()
    loop, trouble = asyncio.get_running_loop(), Outage(telemetry, "worker")
    for number in (signal.SIGTERM, signal.SIGQUIT):
        loop.add_signal_handler(number, stopped.set)
    while not stopped.is_set() and os.getppid() == parent:
        if await _unless(stopped, _try_to_open(store, trouble)):
            return bool(await _unless(stopped, supervisor.until_it_runs()))
    return False


async def _unless(stopped: asyncio.Event, work: Coroutine[Any, Any, bool]) -> bool | None:
    """The result of the work; None if it had to stop first."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stopped.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    if working.done() and not stopped.is_set():
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
        return working.result()
    working.cancel()
    await asyncio.gather(working, stopping, return_exceptions=True)
    return None


async def _try_to_open(store: Store, trouble: Outage) -> bool:
    try:
        await store.open()
    except StoreUnavailable as error:
        await trouble.pause(error)
        return False
    trouble.over()
    return True


async def run_child(worker: Worker, link: SupervisorLink) -> int:
    """Run the worker until it is told to stop; returns the exit code."""
    link.attach(worker)
    alive = asyncio.create_task(link.say_alive(), name="fairlead-alive")
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, worker.stop)
    loop.add_signal_handler(signal.SIGQUIT, worker.stop, 0.0)
    try:
        await worker.run()
    except LeaseLost:
        return EXIT_LEASE_LOST
    finally:
        alive.cancel()
    if worker.is_dismissed:
        return EXIT_DISMISSED
    return EXIT_RECYCLE if worker.is_worn else 0
