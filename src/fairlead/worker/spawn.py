"""Starts worker processes, before anything else is imported: they load the app while their supervisor does the same.

Each has a socket to the supervisor. A process registers its worker, and claims, only when the supervisor has said there
that it runs; one whose supervisor cannot start ends without a word, since the supervisor says why.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

SOCKET_VARIABLE = "FAIRLEAD_SUPERVISOR_SOCKET"


class Spawned(NamedTuple):
    """A process that was started, and our end of its socket."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    started: float

    def end(self) -> None:
        """Kill it if it still runs, and let go of it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.socket.close()


def spawn(command: Sequence[str]) -> Spawned:
    """Start a worker process."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        environment = {**os.environ, SOCKET_VARIABLE: str(theirs.fileno())}
        process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
    return Spawned(process, ours, time.monotonic())


@contextmanager
def spawned(command: Sequence[str], count: int) -> Iterator[list[Spawned]]:
    """Started processes; those that still run at the end are killed."""
    processes: list[Spawned] = []
    try:
        for _ in range(count):
            processes.append(spawn(command))
        yield processes
    finally:
        for process in processes:
            process.end()
