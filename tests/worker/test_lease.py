"""Whose lease is renewed for how long, and how often."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import fairlead
from fairlead.errors import LeaseLost
from fairlead.runtime.boot_clock import boot_time
from fairlead.runtime.operator import Operator
from fairlead.wiring import make_lease_book, migrate
from fairlead.worker.lease import KeeperThread, LeaseClock
from tests.support.settings import set_pool
from tests.worker.support import until

ADA = Operator("ada", "machines go away often")


class Book:
    """Notes what is renewed."""

    def __init__(self) -> None:
        self.renewals: list[tuple[set[str], float]] = []
        self.renewed = threading.Event()

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        self.renewals.append((set(worker_ids), lease))
        self.renewed.set()
        return set(worker_ids)

    def expire(self, worker_ids: Sequence[str]) -> None:
        """Nobody dies here."""

    def close(self) -> None:
        """Nothing is open."""


def test_each_lease_is_renewed_for_as_long_as_its_worker_wants() -> None:
    book = Book()
    keeper = KeeperThread(book, heartbeat=10.0)
    clocks = [LeaseClock(name, boot_time(), lease) for name, lease in (("a", 30.0), ("b", 5.0), ("c", 30.0))]
    for clock in clocks:
        keeper.keep(clock)
    keeper.beat()
    assert sorted(book.renewals, key=lambda renewal: renewal[1]) == [({"b"}, 5.0), ({"a", "c"}, 30.0)]
    left = [clock.deadline - boot_time() for clock in clocks]
    assert left == pytest.approx([27.0, 4.5, 27.0], abs=1.0)


def test_a_lease_may_be_relied_on_from_the_sending_of_its_renewal_and_not_from_the_answer() -> None:
    """The store counts from somewhere between the two."""

    class SlowBook(Book):
        def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
            threading.Event().wait(0.3)
            return super().renew(worker_ids, lease)

    keeper, clock = KeeperThread(SlowBook(), heartbeat=10.0), LeaseClock("a", boot_time(), 30.0)
    keeper.keep(clock)
    sent_at = boot_time()
    keeper.beat()
    assert clock.deadline <= sent_at + 27.0 + 0.1


async def test_a_handler_that_blocks_the_event_loop_does_not_cost_an_embedded_worker_its_lease() -> None:
    app = fairlead.App("sqlite:///:memory:", lease="1s", heartbeat="200ms", poll="50ms")

    @app.handler("block")
    async def block(ctx: fairlead.Context) -> int:
        threading.Event().wait(1.6)
        return ctx.fence

    async with app, app.worker():
        assert await (await block.enqueue()).wait(20) == 1


async def test_a_worker_whose_lease_was_ended_by_others_stops_and_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    await migrate(url)
    app = fairlead.App(url, lease="2s", heartbeat="100ms", poll="50ms")

    @app.handler("work")
    async def work() -> None: ...

    async with app:
        with pytest.raises(LeaseLost, match="lost its lease"):
            await end_lease_of_worker(app, url)


async def end_lease_of_worker(app: fairlead.App, url: str) -> None:
    async with app.worker() as worker:
        book = make_lease_book(url)
        await asyncio.to_thread(book.expire, [worker.info.id])
        book.close()
        await asyncio.sleep(20)


def test_who_wants_a_shorter_lease_keeps_what_it_was_granted() -> None:
    keeper = KeeperThread(Book(), heartbeat=10.0)
    clock = LeaseClock("a", boot_time() + 27.0, 30.0)
    keeper.keep(clock)
    clock.want(5.0)
    keeper.beat()
    assert clock.deadline - boot_time() == pytest.approx(27.0, abs=1.0)


def test_a_new_lease_does_not_wait_for_the_next_heartbeat() -> None:
    """It may be shorter than that."""
    book = Book()
    keeper = KeeperThread(book, heartbeat=1000.0)
    keeper.start()
    try:
        keeper.keep(LeaseClock("a", boot_time() + 1000.0, 1000.0))
        assert book.renewed.wait(60)
        book.renewed.clear()
        keeper.keep(LeaseClock("b", boot_time() + 0.9, 1.0))
        assert book.renewed.wait(60)
        book.renewed.clear()
        assert book.renewed.wait(60), "a third of the shortest lease is long over"
    finally:
        keeper.stop()


def test_a_keeper_elsewhere_is_told_what_is_wanted() -> None:
    clock, told = LeaseClock("a", boot_time(), 30.0), list[float]()
    clock.wants = told.append
    clock.want(30.0)
    clock.want(5.0)
    assert (told, clock.lease) == ([5.0], 5.0)


async def test_a_worker_follows_the_leases_of_its_pools() -> None:
    app = fairlead.App("sqlite:///:memory:")
    async with app:
        store = (await app.client()).store
        await set_pool(store, "short", {"lease": 90.0}, ADA)
        async with app.worker(pools=("short",)) as worker:
            assert worker._clock.lease == 90.0
            (record,) = await store.workers.all()
            assert 60.0 < record.lease_left <= 90.0
            await set_pool(store, "short", {"lease": 20.0}, ADA)
            await until(lambda: worker._clock.lease == 20.0, "the new lease")


async def test_a_worker_without_a_free_slot_follows_too() -> None:
    app, started, end = fairlead.App("sqlite:///:memory:"), asyncio.Event(), asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        started.set()
        await end.wait()

    async with app, app.worker(concurrency=1) as worker:
        await work.enqueue()
        await started.wait()
        await set_pool((await app.client()).store, "short", {"lease": 20.0}, ADA)
        await until(lambda: worker._clock.lease == 20.0, "the new lease")
        end.set()
