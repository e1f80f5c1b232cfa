"""Ends copies of a worker that a handler made with os.fork before they run anything twice.

A fork copies the event loop with all running handlers, but neither the threads nor the lease. A child process that
leaves by os._exit, as those of multiprocessing and subprocess do, never comes back here.
"""

import os
import sys

EXIT_COPY = 73

_forks = 0


def _count() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count)


class ForkGuard:
    """Belongs to the process that makes it."""

    def __init__(self) -> None:
        self._forks = _forks

    def end_copy(self) -> None:
        """End this process if it is a copy of the one that made the guard."""
        if _forks != self._forks:
            print("fairlead: a handler called os.fork; this copy of the worker ends here", file=sys.stderr)
            os._exit(EXIT_COPY)
