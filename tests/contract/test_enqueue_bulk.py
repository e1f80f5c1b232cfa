"""Many jobs that have nothing but their arguments: stored like any others, only faster; and bounds on what waits."""

import pytest

from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.core.protection.backpressure import refuse_by_depth
from fairlead.errors import TenantQueueFull
from fairlead.records.store import Store
from tests.contract.making import LANE, claim, new_job, new_jobs, new_lease
from tests.contract.world import World

ELSEWHERE = Lane("slow", "globex", "report", Priority.HIGH, 7)


class Bound:
    """A bound on a tenant's waiting jobs, which notes what was counted."""

    def __init__(self, tenant: str, most: int) -> None:
        self.tenant = tenant
        self.most = most
        self.counted: list[tuple[int, int]] = []

    def admit(self, waiting: int, count: int) -> None:
        """Refuse what goes beyond."""
        self.counted.append((waiting, count))
        if waiting + count > self.most:
            raise refuse_by_depth(self.tenant, self.most, waiting, count)


async def test_they_are_as_if_they_had_been_enqueued_one_by_one(world: World) -> None:
    jobs = new_jobs(3, lane=ELSEWHERE, payload='{"text":"☂ \'"}')
    await world.store.jobs.enqueue(jobs)
    singly = new_job(lane=ELSEWHERE, payload=jobs[0].payload, not_after=4e9)
    await world.store.jobs.enqueue([singly])
    first, expected = await world.store.reader.read(jobs[0].id), await world.store.reader.read(singly.id)
    assert first is not None
    assert expected is not None
    differing = {"id", "not_after"}
    assert [getattr(first, name) for name in type(first).__slots__ if name not in differing] == [
        getattr(expected, name) for name in type(expected).__slots__ if name not in differing
    ]


async def test_they_are_claimed_in_their_order(store: Store) -> None:
    jobs = new_jobs(20)
    await store.jobs.enqueue(jobs)
    claims = await claim(store, new_lease(), 20)
    assert [(found.id, found.payload) for found in claims] == [(job.id, job.payload) for job in jobs]


@pytest.mark.parametrize("again", [False, True])
async def test_what_is_there_already_stays_and_the_rest_is_added(store: Store, again: bool) -> None:
    jobs = new_jobs(4)
    await store.jobs.enqueue(jobs[:2])
    (running,) = await claim(store, new_lease(), 1)
    await store.jobs.enqueue(jobs, again)
    records = [await store.reader.read(job.id) for job in jobs]
    assert [record and record.state for record in records] == [State.RUNNING, *[State.READY] * 3]
    assert running.id == jobs[0].id


async def test_a_bound_is_told_how_many_jobs_of_its_tenant_wait(world: World) -> None:
    store, own, other = world.store, Bound(LANE.tenant, 4), Bound("globex", 1)
    await store.jobs.enqueue([new_job(), new_job(delay=60.0)])
    await claim(store, new_lease(), 1)
    jobs = [*new_jobs(2), new_job(lane=ELSEWHERE)]
    await store.jobs.enqueue(jobs, False, (), [own, other])
    assert (own.counted, other.counted) == ([(1, 2)], [(0, 1)])
    with pytest.raises(TenantQueueFull):
        await store.jobs.enqueue(new_jobs(2), False, (), [own])
    assert own.counted[-1] == (3, 2)
    assert await store.backpressure.waiting_of(LANE.tenant, 10) == 3
    assert await store.backpressure.waiting_of(LANE.tenant, 2) == 2


async def test_jobs_that_may_be_there_already_are_not_counted_again(store: Store) -> None:
    bound, jobs = Bound(LANE.tenant, 1), new_jobs(1)
    await store.jobs.enqueue(jobs, False, (), [bound])
    await store.jobs.enqueue(jobs, True, (), [bound])
    assert bound.counted == [(0, 1)]
