"""Ends the processes that handlers have started and that outlive their worker process. On Linux alone.

The supervisor adopts what its worker processes leave behind: it is their "child subreaper". What it has adopted by the
time a worker process has ended is told to end (SIGTERM), and killed if it has not after some seconds. What it adopts
while all workers live, such as a shell's background process, goes on until the supervisor itself stops. A process in a
session of its own (`start_new_session=True`) was detached on purpose and is left alone.
"""

import contextlib
import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

GRACE = 5.0  # seconds between SIGTERM and SIGKILL
PR_SET_CHILD_SUBREAPER = 36

_log = logging.getLogger("fairlead")


class Leftovers:
    """The processes that this one has adopted; it has no other children than these and its workers."""

    def __init__(self) -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._spared: set[int] = set()
        self._new: set[int] = set()  # adopted, while it is not known yet whether their worker has ended
        self._ending: dict[int, float] = {}  # the processes told to end, and when they are killed

    def look(self, workers: Iterable[int], worker_ended: bool) -> None:
        """Adopt what is new; end it if a worker process has ended since the last look."""
        adopted = self._reap(_children() - set(workers))
        gone = self._ending.keys() - adopted
        self._ending = {pid: at for pid, at in self._ending.items() if pid in adopted}
        if not worker_ended:
            self._spared |= self._new
        self._spared &= adopted
        self._new = adopted - self._spared - self._ending.keys()
        if worker_ended or gone:
            self._end(self._new)
        self._kill_overdue()

    def end_all(self) -> bool:
        """End everything adopted, once no worker is left; whether some of it still runs."""
        self._spared.clear()
        self.look((), worker_ended=True)
        return bool(self._ending)

    def _end(self, pids: set[int]) -> None:
        for pid in sorted(pids):
            if _is_detached(pid):
                self._spared.add(pid)
                continue
            _log.warning("the process %s (%s) outlived the worker that started it; it is ended", pid, _name(pid))
            _signal(pid, signal.SIGTERM)
            self._ending[pid] = time.monotonic() + GRACE

    def _kill_overdue(self) -> None:
        for pid, kill_at in self._ending.items():
            if time.monotonic() >= kill_at:
                _signal(pid, signal.SIGKILL)

    def _reap(self, pids: set[int]) -> set[int]:
        """Those of these children that still run."""
        running = set()
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    running.add(pid)
        return running


def _children() -> set[int]:
    """The children of this process."""
    found: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(map(int, path.read_text().split()))
    return found


def _is_detached(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except ProcessLookupError:
        return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "gone"


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
