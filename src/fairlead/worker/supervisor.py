"""Several worker processes under one that runs no handlers: it keeps their leases and replaces those that die.

Each child has a socket to the supervisor. An empty line there tells the child that the supervisor runs; the child waits
for it before it registers. Then the child says which worker it is and which lease it wants, by the pools it serves, and
again when that changes; the supervisor answers every renewal with the new deadline, which both sides read on the same
boot clock. When the socket closes, the child knows that nobody keeps its lease any more and stops within what is left
of it. When a child dies, the supervisor ends its lease at once, so that its jobs need not wait for it to run out.

Each second the child's event loop says that it is alive. When it has said nothing for a minute, because it was stopped
or a handler blocks it, the supervisor kills the child. Processes that a child leaves behind are ended too.
"""

import asyncio
import contextlib
import json
import logging
import signal
import time
from collections.abc import Sequence
from typing import Any

from fairlead.errors import StoreError
from fairlead.ports.jobs import LeaseBook
from fairlead.runtime.boot_clock import boot_time
from fairlead.telemetry.events import ProcessEnded, Telemetry
from fairlead.worker.lease import KeeperThread, LeaseClock
from fairlead.worker.leftovers import Leftovers
from fairlead.worker.spawn import Spawned, spawn

EXIT_RECYCLE = 71  # a child that has ended in good order and wants to be replaced
EXIT_DISMISSED = 72  # a child that an operator told to end; it is not replaced
LOOK_EVERY = 0.1
FENCED_GRACE = 5.0
LONGEST_SILENCE = 60.0  # seconds that a child's event loop may be blocked
IN_ORDER = (0, EXIT_RECYCLE, EXIT_DISMISSED)
LONGEST_RESTART_PAUSE = 15.0
STEADY = 30.0


_log = logging.getLogger("fairlead")


class Child:
    """One worker process."""

    def __init__(self, spawned: Spawned, keeper: KeeperThread) -> None:
        self.process, self.socket, self.started = spawned
        with contextlib.suppress(OSError):  # one that has ended is found below
            self.socket.send(b"\n")
        self.clock: LeaseClock | None = None
        self.silent_for = 0.0  # while the supervisor itself was awake
        self._looked_at = time.monotonic()
        self._keeper = keeper
        self._received = b""

    def receive(self) -> None:
        """Read what the child says: the worker it has registered, and which lease it wants from then on."""
        now = time.monotonic()
        self.silent_for += min(now - self._looked_at, 2 * LOOK_EVERY)
        self._looked_at = now
        try:
            self._received += self.socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            self._received = b""
        self.silent_for = 0.0
        *lines, self._received = self._received.split(b"\n")
        for line in filter(None, lines):  # an empty one only says that the child is alive
            self._apply(json.loads(line))

    def _apply(self, message: dict[str, Any]) -> None:
        if self.clock is None:
            self.clock = LeaseClock(message["worker"], message["deadline"], message["lease"])
            self._keeper.keep(self.clock, self._tell)
        else:
            self.clock.want(message["lease"])

    def _tell(self, clock: LeaseClock) -> None:
        message = {"lost": clock.lost} if clock.lost else {"renewed": clock.deadline, "trouble": clock.trouble}
        with contextlib.suppress(OSError):
            self.socket.send(json.dumps(message).encode() + b"\n")

    def why_kill(self) -> str | None:
        """Why it must not live on: its lease has been over for a while, or its event loop does not answer."""
        if self.clock is None:
            return None
        if boot_time() > self.clock.deadline + FENCED_GRACE:
            return "it goes on although its lease is over"
        if self.silent_for > LONGEST_SILENCE:
            return f"its event loop has not answered for {self.silent_for:.0f} s: it is stopped, or a handler blocks it"
        return None

    def ended_well(self, code: int) -> bool:
        """Whether this is how a child ends that is told to; before it has a worker, a signal ends it at once."""
        return code in IN_ORDER or (self.clock is None and code in (-signal.SIGTERM, -signal.SIGQUIT))

    def close(self) -> None:
        """Let go of a process that has ended."""
        if self.clock is not None:
            self._keeper.drop(self.clock.worker_id)
        self.socket.close()


class Supervisor:
    """Keeps a number of worker processes alive until told to stop."""

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        book: LeaseBook,
        heartbeat: float,
        telemetry: Telemetry,
        started: Sequence[Spawned] = (),
        leftovers: Leftovers | None = None,  # for a process that has no children but those of the supervisor
    ) -> None:
        """`started` are processes of this command that run already and wait for a supervisor."""
        self._command = command
        self._started = list(started)
        self._book = book
        self._keeper = KeeperThread(book, heartbeat)
        self._telemetry = telemetry
        self._children: list[Child | None] = [None] * processes
        self._start_at = [0.0] * processes
        self._failures = [0] * processes
        self._dismissed = [False] * processes
        self._stops_asked = 0
        self._worst_code = 0
        self._leftovers = leftovers

    def stop(self) -> None:
        """The first time: drain. The second: stop at once."""
        self._stops_asked += 1
        # Two of the same signal can arrive as one, so the second request has a signal of its own.
        number = signal.SIGTERM if self._stops_asked == 1 else signal.SIGQUIT
        for child in self._children:
            if child is not None:
                child.process.send_signal(number)

    def why_not_ready(self) -> str | None:
        """Why no work should be expected of it now, if that is so: it stops, or no worker process has registered."""
        if self._stops_asked:
            return "stopping"
        registered = any(child is not None and child.clock is not None for child in self._children)
        return None if registered else "no worker process is registered"

    def worker_ids(self) -> set[str]:
        """The workers that its processes have registered."""
        return {child.clock.worker_id for child in self._children if child is not None and child.clock is not None}

    async def run(self) -> int:
        """Work until stopped; returns the exit code."""
        self._keeper.start()
        try:
            while any(self._children) or not (self._stops_asked or all(self._dismissed)):
                ended = [await self._look_after(index) for index in range(len(self._children))]
                if self._leftovers is not None:
                    self._leftovers.look(self._pids(), any(ended))
                await asyncio.sleep(LOOK_EVERY)
            while self._leftovers is not None and self._leftovers.end_all():  # noqa: ASYNC110 a process tells nobody
                await asyncio.sleep(LOOK_EVERY)
        finally:
            for child in self._children:
                if child is not None:
                    child.process.kill()
                    child.process.wait()
                    await self._bury(child)
            self._keeper.stop()
        return self._worst_code

    def _pids(self) -> set[int]:
        return {child.process.pid for child in self._children if child is not None}

    async def _look_after(self, index: int) -> bool:
        """Start the child if it is due, hear it, and bury it if it has ended; whether it has."""
        child = self._children[index]
        if child is None:
            due = not self._dismissed[index] and time.monotonic() >= self._start_at[index]
            if due and not self._stops_asked:
                spawned = self._started.pop() if self._started else spawn(self._command)
                self._children[index] = Child(spawned, self._keeper)
            return False
        child.receive()
        code = child.process.poll()
        if code is not None:
            self._children[index] = None
            await self._bury(child)
            self._plan_restart(index, child, code)
            return True
        if why := child.why_kill():
            _log.error("the worker process %s is killed: %s", child.process.pid, why)
            child.process.kill()
        return False

    async def _bury(self, child: Child) -> None:
        child.close()
        if child.clock is not None:
            with contextlib.suppress(StoreError):
                await asyncio.to_thread(self._book.expire, [child.clock.worker_id])

    def _plan_restart(self, index: int, child: Child, code: int) -> None:
        if self._stops_asked:
            self._worst_code = self._worst_code or (0 if child.ended_well(code) else 1)
            return
        if code == EXIT_DISMISSED:
            self._dismissed[index] = True
            return
        if code == EXIT_RECYCLE:
            self._telemetry.emit(ProcessEnded(child.process.pid, code, 0.0))
            return
        steady = time.monotonic() - child.started > STEADY
        self._failures[index] = 0 if steady else self._failures[index] + 1
        pause = min(0.2 * 2 ** self._failures[index], LONGEST_RESTART_PAUSE)
        self._start_at[index] = time.monotonic() + pause
        self._telemetry.emit(ProcessEnded(child.process.pid, code, pause))
