"""Keeping a worker's lease, and knowing when it can no longer be relied on.

A lease is renewed from a place where no handler can get in the way: a thread of its own when a worker is embedded in
a program, the supervisor process when workers run under one. A handler that blocks the event loop stops neither; one
that holds the interpreter lock stops only the thread, which is why production workers run under a supervisor.

The worker's own deadline is counted from before a renewal was sent, never from when the answer came, less a margin.
When it passes without a confirmed renewal the worker stops its handlers itself, since others may own its jobs from
then on. A renewal never shortens a lease: where a worker wants a shorter one, what it was granted holds to its end. So
store and worker agree on when it is over, whether or not the worker has heard of the last renewal. Time is
CLOCK_BOOTTIME, which goes on while a machine sleeps and is the same in all processes of a host.
"""

import logging
import threading
from collections.abc import Callable

from fairlead.errors import StoreError
from fairlead.ports.jobs import LeaseBook
from fairlead.runtime.boot_clock import boot_time

BEATS = 3  # renewals that fit into a lease, at least
MARGIN = 0.1  # the share of the lease that is given up for safety
SOONER = 0.1  # of a heartbeat, after one that failed

_log = logging.getLogger("fairlead")


def deadline_from(sent_at: float, lease: float) -> float:
    """Until when a renewal sent at `sent_at` may be relied on."""
    return sent_at + lease * (1 - MARGIN)


class LeaseClock:
    """When one worker's lease ends, as far as it knows; written by a keeper, read by the worker.

    `catch_up` is asked before the deadline is believed to have passed: news of a renewal may have been waiting while
    this process could not read it.
    """

    def __init__(self, worker_id: str, deadline: float, lease: float) -> None:
        self.worker_id = worker_id
        self.deadline = deadline
        self.lease = lease  # that the worker wants from the next renewal on
        self.lost: str | None = None
        self.trouble: str | None = None  # why the last try to renew it failed
        self.catch_up: Callable[[], None] = lambda: None
        self.wants: Callable[[float], None] = lambda lease: None  # tells a keeper in another process

    def want(self, lease: float) -> None:
        """The worker wants a lease of so many seconds from now on."""
        if lease != self.lease:
            self.lease = lease
            self.wants(lease)

    def renewed(self, deadline: float) -> None:
        """A renewal was confirmed."""
        self.deadline = max(self.deadline, deadline)

    def lose(self, reason: str) -> None:
        """It is over, whatever the deadline says."""
        self.lost = self.lost or reason

    def over(self) -> str | None:
        """Why the lease must not be relied on any more, or None."""
        if self.lost is None and boot_time() > self.deadline:
            self.catch_up()
            if boot_time() > self.deadline:
                why = f": {self.trouble}" if self.trouble else ""
                self.lose(f"it could not be renewed in time{why}")
        return self.lost


Listeners = dict[str, Callable[[LeaseClock], None]]


class KeeperThread:
    """Renews leases in a thread of its own, for one worker or for all children of a supervisor."""

    def __init__(self, book: LeaseBook, heartbeat: float) -> None:
        self._book = book
        self._heartbeat = heartbeat
        self._clocks: dict[str, LeaseClock] = {}
        self._listeners: Listeners = {}
        self._lock = threading.Lock()
        self._stopped = False
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fairlead-keeper", daemon=True)

    def start(self) -> None:
        """Begin to renew."""
        self._thread.start()

    def keep(self, clock: LeaseClock, on_change: Callable[[LeaseClock], None] = lambda clock: None) -> None:
        """Renew this lease from now on; `on_change` is called from the keeper's thread after each try."""
        with self._lock:
            self._clocks[clock.worker_id] = clock
            self._listeners[clock.worker_id] = on_change
        self._news.set()

    def drop(self, worker_id: str) -> None:
        """Renew this lease no longer."""
        with self._lock:
            self._clocks.pop(worker_id, None)
            self._listeners.pop(worker_id, None)

    def stop(self) -> None:
        """End the thread and give back its connection."""
        self._stopped = True
        self._news.set()
        self._thread.join(timeout=5)
        self._book.close()

    def _run(self) -> None:
        soon = False
        while not self._stopped:
            self._news.wait(self._pause() * (SOONER if soon else 1.0))
            self._news.clear()
            if not self._stopped:
                soon = not self.beat()

    def _pause(self) -> float:
        """A heartbeat, or less where that is more than a third of a lease."""
        with self._lock:
            return min([self._heartbeat, *(clock.lease / BEATS for clock in self._clocks.values())])

    def beat(self) -> bool:
        """Renew all leases once; False where that failed, which the next beat tries again sooner."""
        with self._lock:
            clocks = list(self._clocks.values())
            listeners = dict(self._listeners)
        if not clocks:
            return True
        leases = {clock.lease for clock in clocks}
        groups = [([clock for clock in clocks if clock.lease == lease], lease) for lease in leases]
        renewed = [self._renew(group, lease, listeners) for group, lease in groups]
        return all(renewed)

    def _renew(self, clocks: list[LeaseClock], lease: float, listeners: Listeners) -> bool:
        sent_at = boot_time()
        try:
            renewed = self._book.renew([clock.worker_id for clock in clocks], lease)
        except StoreError as error:
            return self._fail(clocks, listeners, str(error))  # the deadline decides
        except Exception as error:
            _log.exception("leases could not be renewed; this is a defect in Fairlead: please report it")
            return self._fail(clocks, listeners, repr(error))
        for clock in clocks:
            clock.trouble = None
            if clock.worker_id in renewed:
                clock.renewed(deadline_from(sent_at, lease))
            else:
                clock.lose("the store says that it has run out")
            listeners[clock.worker_id](clock)
        return True

    def _fail(self, clocks: list[LeaseClock], listeners: Listeners, why: str) -> bool:
        """Let the workers know why, so that they can say it when their time is over."""
        for clock in clocks:
            clock.trouble = why
            listeners[clock.worker_id](clock)
        return False
