"""Workers and their leases, the register of types, the leader, and wake-ups."""

import asyncio
from uuid import uuid4

import pytest

from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.model import NewJob
from fairlead.core.jobs.states import State
from fairlead.errors import LeaseLost
from fairlead.records.store import Store
from tests.contract.making import claim_one, enqueue_one, keyed_job, new_job, state_of, worker_info
from tests.contract.world import World


async def test_a_worker_is_registered_with_its_lease(world: World) -> None:
    info = worker_info(str(uuid4()))
    await world.store.workers.register(info, 30)
    world.advance(10)
    (record,) = await world.store.workers.all()
    assert (record.info, record.lease_left, record.live) == (info, 20, True)
    assert (record.started_at.timestamp(), record.report) == (world.clock() - 10, {})


async def test_an_entry_may_be_repeated(world: World) -> None:
    info = worker_info(str(uuid4()))
    await world.store.workers.register(info, 30)
    await world.store.workers.report(info.id, {"running": 3})
    world.advance(10)
    await world.store.workers.register(info, 30)
    (record,) = await world.store.workers.all()
    assert (record.info, record.lease_left, record.report) == (info, 30, {"running": 3})
    assert record.started_at.timestamp() == world.clock() - 10
    await world.store.workers.register(info, 5)
    assert await lease_left(world.store) == {info.id: 30}, "what the worker was told first still holds"


async def test_a_repeated_entry_revives_no_lease_that_is_over(world: World) -> None:
    lease = await world.worker(30)
    await enqueue_one(world.store)
    await claim_one(world.store, lease)
    world.advance(30)
    with pytest.raises(LeaseLost, match="new id"):
        await world.store.workers.register(worker_info(lease.owner), 30)
    assert len(await world.store.reader.lost(10)) == 1
    assert not (await world.store.workers.all())[0].live


async def test_workers_are_listed_in_the_order_they_started(world: World) -> None:
    owners = []
    for _ in range(3):
        owners.append((await world.worker()).owner)
        world.advance(1)
    assert [record.info.id for record in await world.store.workers.all()] == owners


async def test_a_worker_is_not_live_when_its_lease_is_over(world: World) -> None:
    await world.worker(30)
    world.advance(30)
    (record,) = await world.store.workers.all()
    assert not record.live


async def test_a_report_is_kept(world: World) -> None:
    lease, other = await world.worker(), await world.worker()
    await world.store.workers.report(lease.owner, {"running": 3, "note": "100 % 🛟"})
    reports = {record.info.id: record.report for record in await world.store.workers.all()}
    assert reports == {lease.owner: {"running": 3, "note": "100 % 🛟"}, other.owner: {}}


async def test_a_retired_worker_is_gone(world: World) -> None:
    lease, other = await world.worker(), await world.worker()
    await world.store.workers.retire(lease.owner)
    assert [record.info.id for record in await world.store.workers.all()] == [other.owner]


async def lease_left(store: Store) -> dict[str, float]:
    """Seconds that each worker has left."""
    return {record.info.id: record.lease_left for record in await store.workers.all()}


async def test_renewal_extends_from_now(world: World) -> None:
    lease, book = await world.worker(30), world.lease_book()
    world.advance(29)
    assert await asyncio.to_thread(book.renew, [lease.owner], 30.0) == {lease.owner}
    assert await lease_left(world.store) == {lease.owner: 30}


async def test_a_renewal_never_shortens_a_lease(world: World) -> None:
    """The worker may not know yet that it wants a shorter one: until the end of the old one it relies on that."""
    lease, book = await world.worker(30), world.lease_book()
    assert await asyncio.to_thread(book.renew, [lease.owner], 5.0) == {lease.owner}
    assert await lease_left(world.store) == {lease.owner: 30}
    world.advance(28)
    assert await asyncio.to_thread(book.renew, [lease.owner], 5.0) == {lease.owner}
    assert await lease_left(world.store) == {lease.owner: 5}


async def test_a_lease_that_is_over_cannot_be_renewed(world: World) -> None:
    lease, book = await world.worker(30), world.lease_book()
    world.advance(30)
    assert await asyncio.to_thread(book.renew, [lease.owner], 30.0) == set()
    assert await lease_left(world.store) == {lease.owner: 0}


async def test_of_many_only_the_unexpired_are_renewed(world: World) -> None:
    short, long, untouched = await world.worker(10), await world.worker(40), await world.worker(60)
    book, missing = world.lease_book(), str(uuid4())
    world.advance(20)
    assert await asyncio.to_thread(book.renew, [short.owner, long.owner, missing], 30.0) == {long.owner}
    assert await lease_left(world.store) == {short.owner: -10, long.owner: 30, untouched.owner: 40}


async def test_renewing_nobody_renews_nobody(world: World) -> None:
    assert await asyncio.to_thread(world.lease_book().renew, [], 30.0) == set()


async def test_an_ended_lease_makes_its_jobs_lost_at_once(world: World) -> None:
    await enqueue_one(world.store)
    lease, other, book = await world.worker(30), await world.worker(30), world.lease_book()
    claimed = await claim_one(world.store, lease)
    await asyncio.to_thread(book.expire, [lease.owner, str(uuid4())])
    assert await lease_left(world.store) == {lease.owner: 0, other.owner: 30}
    assert [job.id for job in await world.store.reader.lost(10)] == [claimed.id]


async def test_an_ended_lease_cannot_be_renewed(world: World) -> None:
    lease, book = await world.worker(30), world.lease_book()
    await asyncio.to_thread(book.expire, [lease.owner])
    assert await asyncio.to_thread(book.renew, [lease.owner], 30.0) == set()


async def test_ending_a_lease_that_is_over_does_not_lengthen_it(world: World) -> None:
    lease, book = await world.worker(30), world.lease_book()
    world.advance(100)
    await asyncio.to_thread(book.expire, [lease.owner])
    assert await lease_left(world.store) == {lease.owner: -70}


async def test_a_closed_lease_book_connects_again(world: World) -> None:
    lease, book = await world.worker(30), world.lease_book()
    await asyncio.to_thread(book.renew, [lease.owner], 30.0)
    book.close()
    book.close()
    assert await asyncio.to_thread(book.renew, [lease.owner], 30.0) == {lease.owner}


async def test_a_renewal_keeps_jobs_from_being_lost(world: World) -> None:
    await enqueue_one(world.store)
    lease, book = await world.worker(30), world.lease_book()
    await claim_one(world.store, lease)
    for _ in range(4):
        world.advance(20)
        await asyncio.to_thread(book.renew, [lease.owner], 30.0)
        assert await world.store.reader.lost(10) == []


def job_type(version: int, **fields: object) -> JobType:
    """A type whose schema tells its version."""
    return JobType("mail", version, "default", {"version": version, **fields}, {"timeout": 3, "text": "100 % 🛟"})


async def test_types_are_kept(store: Store) -> None:
    types = [job_type(1), JobType("report", 3, "slow", {"a": [1, None]}, {})]
    await store.types.register(types)
    assert await store.types.all() == types


async def test_a_newer_version_replaces_an_older_one(store: Store) -> None:
    await store.types.register([job_type(1)])
    await store.types.register([job_type(2)])
    assert await store.types.all() == [job_type(2)]


async def test_an_older_version_never_replaces_a_newer_one(store: Store) -> None:
    await store.types.register([job_type(2)])
    await store.types.register([job_type(1)])
    assert await store.types.all() == [job_type(2)]


async def test_the_same_version_can_change(store: Store) -> None:
    await store.types.register([job_type(2)])
    await store.types.register([job_type(2, changed=True)])
    assert await store.types.all() == [job_type(2, changed=True)]


async def test_registering_no_types_does_nothing(store: Store) -> None:
    await store.types.register([])
    assert await store.types.all() == []


async def test_one_leads_at_a_time(store: Store) -> None:
    ours, theirs = str(uuid4()), str(uuid4())
    assert await store.leadership.lead("scheduler", ours, 30)
    assert not await store.leadership.lead("scheduler", theirs, 30)
    assert await store.leadership.lead("scheduler", ours, 30)


async def test_each_role_has_its_own_leader(store: Store) -> None:
    ours, theirs = str(uuid4()), str(uuid4())
    assert await store.leadership.lead("scheduler", ours, 30)
    assert await store.leadership.lead("watcher", theirs, 30)


async def test_leading_again_extends_the_lead(world: World) -> None:
    ours, theirs = str(uuid4()), str(uuid4())
    for _ in range(3):
        assert await world.store.leadership.lead("scheduler", ours, 30)
        world.advance(29)
        assert not await world.store.leadership.lead("scheduler", theirs, 30)


async def test_another_takes_over_when_the_lead_has_run_out(world: World) -> None:
    ours, theirs = str(uuid4()), str(uuid4())
    await world.store.leadership.lead("scheduler", ours, 30)
    world.advance(30)
    assert await world.store.leadership.lead("scheduler", theirs, 30)
    assert not await world.store.leadership.lead("scheduler", ours, 30)


async def test_another_takes_over_at_once_when_the_leader_resigns(store: Store) -> None:
    ours, theirs = str(uuid4()), str(uuid4())
    await store.leadership.lead("scheduler", ours, 30)
    await store.leadership.resign("scheduler", ours)
    assert await store.leadership.lead("scheduler", theirs, 30)


async def test_only_the_leader_can_resign(store: Store) -> None:
    ours, theirs = str(uuid4()), str(uuid4())
    await store.leadership.lead("scheduler", ours, 30)
    await store.leadership.resign("scheduler", theirs)
    await store.leadership.resign("watcher", ours)
    assert not await store.leadership.lead("scheduler", theirs, 30)


async def test_of_many_that_want_to_lead_at_once_one_does(shared_world: World) -> None:
    stores = [shared_world.store, *[await shared_world.another_store() for _ in range(3)]]
    answers = await asyncio.gather(*(store.leadership.lead("scheduler", str(uuid4()), 30) for store in stores))
    assert sorted(answers) == [False, False, False, True]


class Listener:
    """Listens to a store and remembers what it heard."""

    def __init__(self, store: Store) -> None:
        self._heard: asyncio.Queue[str] = asyncio.Queue()
        self._task = asyncio.create_task(store.jobs.listen(self._heard.put_nowait))

    async def next(self) -> str:
        """The next hint."""
        return await asyncio.wait_for(self._heard.get(), 10)

    async def stop(self) -> None:
        """Cancel it, as a worker does when it ends."""
        self._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._task


async def test_a_wake_up_reaches_a_listener(store: Store) -> None:
    listener = Listener(store)
    assert await listener.next() == ""
    await store.jobs.wake(["default"])
    assert await listener.next() == "default"
    await store.jobs.wake(["slow:1", "@scheduled"])
    assert {await listener.next(), await listener.next()} == {"slow:1", "@scheduled"}
    await listener.stop()


@pytest.mark.parametrize("job", [new_job(), keyed_job("once")], ids=["plain", "with a key"])
async def test_a_wake_up_can_leave_with_the_commit_of_a_job(store: Store, job: NewJob) -> None:
    listener = Listener(store)
    assert await listener.next() == ""
    await store.jobs.enqueue([job], wake=["default", "@scheduled"])
    assert {await listener.next(), await listener.next()} == {"default", "@scheduled"}
    assert await state_of(store, job.id) == State.READY
    await listener.stop()


async def test_a_wake_up_reaches_the_listeners_of_other_stores(shared_world: World) -> None:
    stores = [await shared_world.another_store() for _ in range(2)]
    listeners = [Listener(store) for store in stores]
    for listener in listeners:
        assert await listener.next() == ""
    await shared_world.store.jobs.wake(["default"])
    for listener in listeners:
        assert await listener.next() == "default"
        await listener.stop()


async def test_a_wake_up_without_listeners_is_lost_without_harm(store: Store) -> None:
    await store.jobs.wake(["default"])
    await store.jobs.wake([])
