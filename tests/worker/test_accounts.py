"""A worker's accounts when the store does not do what it should."""

import asyncio
import time
from typing import Any

import pytest

from fairlead.core.fairness.ledger import Delivery
from fairlead.core.fairness.queue import FairQueue
from fairlead.core.fairness.run_times import RunCount
from fairlead.core.fairness.share import Charge
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.flush import Flush
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.model import ActiveLane, Lane, Priority
from fairlead.errors import StoreUnavailable
from fairlead.records.shares import Exchanged
from fairlead.worker import accounts as keeping
from fairlead.worker.accounts import Accounts
from tests.support.doubles import store_of

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)


class Away:
    """A store that is away until it is told otherwise, or that does what it is asked and does not say so."""

    def __init__(self) -> None:
        self.away = True
        self.mute = False
        self.heard: list[Any] = []
        self.flushes: list[Flush] = []

    async def run_times(self, window: float) -> Any:
        return await self._answer([])

    async def exchange(self, charges: Any, since: float, flush: Flush) -> Any:
        await self._answer(None)
        await self._take(charges, flush)
        return Exchanged([], 1.0)

    async def record_usage(self, deliveries: Any, runs: Any, waits: Any, flush: Flush) -> None:
        await self._answer(None)
        await self._take([*deliveries, *runs, *waits], flush)

    async def _take(self, items: list[Any], flush: Flush) -> None:
        if flush not in self.flushes:
            self.flushes.append(flush)
            self.heard += items
        if self.mute:
            raise StoreUnavailable("the answer is lost")

    async def _answer(self, answer: Any) -> Any:
        if self.away:
            raise StoreUnavailable("away")
        return answer


def made(store: Away) -> tuple[Accounts, FairQueue, SlotUsage]:
    queue, tally = FairQueue(), SlotUsage()
    return Accounts(store_of(shares=store), queue, tally, frozenset({"short"}), lambda: ()), queue, tally


async def test_what_arrived_although_nobody_said_so_is_not_added_again() -> None:
    store = Away()
    store.away, store.mute = False, True
    accounts, queue, tally = made(store)
    queue.update([ActiveLane(LANE, 0.0)])
    for seconds in (3.0, 4.0):
        (grant,) = queue.allocate(1, tally.estimates.of)
        tally.started(grant.lane, 1, grant.cost)
        tally.ended([(LANE, seconds)])
        with pytest.raises(StoreUnavailable):
            await accounts.flush()
        with pytest.raises(StoreUnavailable):
            await accounts._record()
    store.mute = False
    await accounts.flush()
    assert sum(item.delivered for item in store.heard if isinstance(item, Delivery)) == pytest.approx(7.0)
    assert sum(item.runs for item in store.heard if isinstance(item, RunCount)) == 2
    told = [item.virtual for item in store.heard if isinstance(item, Charge) and item.account == "acme"]
    assert sum(told) == pytest.approx(0.7)


async def test_what_could_not_be_stored_is_stored_later() -> None:
    store = Away()
    accounts, queue, tally = made(store)
    queue.update([ActiveLane(LANE, 0.0)])
    (grant,) = queue.allocate(1, tally.estimates.of)
    tally.started(grant.lane, 1, grant.cost)
    tally.ended([(LANE, 3.0)])
    tally.waits.begun([("short", 1.0)])
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await accounts.flush()
        with pytest.raises(StoreUnavailable):
            await accounts._record()
    store.away = False
    await accounts.flush()
    told = {item.account: item.virtual for item in store.heard if hasattr(item, "account")}
    assert told["acme"] == pytest.approx(0.3)
    assert [item.delivered for item in store.heard if hasattr(item, "delivered")] == [pytest.approx(3.0)]
    assert [item.starts for item in store.heard if isinstance(item, WaitCount)] == [1]


async def test_what_was_guessed_is_put_right_when_the_first_run_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the tenant has paid for far more than it got, and its next job waits for its turn."""
    monkeypatch.setattr(keeping, "SETTLE_EVERY", 3600.0)
    accounts, queue, tally = made(Away())
    queue.update([ActiveLane(LANE, 0.0)])
    (grant,) = queue.allocate(1, tally.estimates.of)
    tally.started(grant.lane, 1, grant.cost)
    accounts.settle_if_due(time.monotonic())
    tally.ended([(LANE, 0.001)])
    accounts.settle_if_due(time.monotonic() + 0.1)
    assert not tally.knows_more
    assert queue.allocate(1, tally.estimates.of)[0].cost == pytest.approx(0.001)


def test_charges_are_corrected_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts, queue, tally = made(Away())
    queue.update([ActiveLane(LANE, 0.0)])
    began = time.monotonic()
    for round in range(1, 4):
        (grant,) = queue.allocate(1, tally.estimates.of)
        tally.started(grant.lane, 1, grant.cost)
        tally.ended([(LANE, 2.0)])
        accounts.settle_if_due(began + round * (keeping.SETTLE_EVERY + 0.01))
        assert sum(accounts._delivered.values()) == pytest.approx(2.0 * round)


def test_a_tenant_whose_jobs_take_longer_than_before_is_charged_within_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would have got a slot for each of its estimates until the next settlement."""
    monkeypatch.setattr(keeping, "THRIFT", 0)  # what a settlement costs here says nothing
    queue, usage, ran = FairQueue(), SlotUsage(), 0.0
    accounts = Accounts(store_of(shares=Away()), queue, usage, frozenset({"short"}), lambda: [(LANE, ran)])
    usage.estimates.learn(LANE, 1, 0.02)
    queue.update([ActiveLane(LANE, 0.0)])
    usage.started(LANE, 1, 0.02)
    began = time.monotonic()
    for tick in range(1, 5):
        ran = tick * 0.05
        accounts.settle_if_due(began + ran)
    charged = sum(charge.virtual for charge in queue.tell() if charge.account == "acme")
    assert charged == pytest.approx(0.018)  # 0.2 s without the estimate, at a weight of ten


def test_a_tenant_is_charged_what_its_jobs_took_and_its_turn_comes_by_that() -> None:
    accounts, queue, usage = made(Away())
    other = LANE._replace(tenant="other")
    queue.update([ActiveLane(LANE, 0.0), ActiveLane(other, 1.0)])
    for lane, seconds in ((LANE, 5.0), (other, 0.5)):  # the first one ran longer, and began earlier
        (grant,) = queue.allocate(1, usage.estimates.of)
        assert grant.lane == lane
        usage.started(lane, 1, grant.cost)
        usage.ended([(lane, seconds)])
    accounts.settle_if_due(time.monotonic() + 1.0)
    virtual = {charge.account: charge.virtual for charge in queue.tell()}
    assert [virtual["acme"], virtual["other"]] == pytest.approx([0.5, 0.05])
    turns = [queue.allocate(1, lambda lane: 1.0)[0].lane.tenant for _ in range(5)]
    assert turns == ["other"] * 5


class Slow(Away):
    """A store that others may ask while it answers."""

    inside = most = 0

    async def exchange(self, charges: Any, since: float, flush: Flush) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        self.inside -= 1
        return await super().exchange(charges, since, flush)


async def test_exchanges_do_not_overlap_nor_come_before_every_claim() -> None:
    """A second one at the same time would send the charges of the first again."""
    store = Slow()
    store.away = False
    accounts, queue, _ = made(store)
    queue.update([ActiveLane(LANE, 0.0)])
    queue.allocate(1, lambda lane: 2.0)
    announced, _ = await asyncio.gather(accounts.announce(), accounts.flush())
    assert (announced, store.most) == (True, 1)
    assert sum(item.virtual for item in store.heard if isinstance(item, Charge)) == pytest.approx(0.2)
    assert not await accounts.announce()
