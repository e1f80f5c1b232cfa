"""The keeper of leases, over a book that fails."""

import threading
from collections.abc import Sequence

import pytest

from fairlead.errors import StoreUnavailable
from fairlead.runtime.boot_clock import boot_time
from fairlead.worker.lease import KeeperThread, LeaseClock

HEARTBEAT = 600.0


class Book:
    """A lease book whose first renewals fail."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.renewed = threading.Event()

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        """Fail, or renew."""
        if self.failures:
            raise self.failures.pop(0)
        self.renewed.set()
        return set(worker_ids)

    def expire(self, worker_ids: Sequence[str]) -> None:
        """Nobody asks for it here."""

    def close(self) -> None:
        """Nothing to give back."""


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), ValueError("a defect")])
def test_a_renewal_that_failed_is_tried_again_much_sooner(failure: Exception) -> None:
    book = Book(failure, failure)
    keeper = KeeperThread(book, heartbeat=0.2)
    clock = LeaseClock("worker", boot_time() + 3.0, 3.0)
    keeper.keep(clock)
    keeper.start()
    try:
        assert book.renewed.wait(20), "the thread has ended"
    finally:
        keeper.stop()
    assert clock.over() is None


def test_a_lease_that_could_not_be_renewed_says_why() -> None:
    keeper = KeeperThread(Book(StoreUnavailable("the disk is full")), heartbeat=1.0)
    clock, heard = LeaseClock("worker", boot_time() - 1.0, 3.0), list[str | None]()
    keeper.keep(clock, lambda changed: heard.append(changed.trouble))
    keeper.beat()
    assert heard == ["the disk is full"], "a supervisor passes it on"
    assert clock.over() == "it could not be renewed in time: the disk is full"


def test_a_failed_renewal_shortens_the_pause_and_a_good_one_does_not() -> None:
    keeper = KeeperThread(Book(StoreUnavailable("away")), heartbeat=HEARTBEAT)
    keeper.keep(LeaseClock("worker", boot_time() + 3 * HEARTBEAT, 3 * HEARTBEAT))
    assert (keeper.beat(), keeper.beat()) == (False, True)
