"""Admission in the store: what waits, sampled figures, and counts of what was not accepted."""

from fairlead.core.jobs.model import Quota
from fairlead.ports.jobs import SampledBacklog
from fairlead.records.store import Store
from tests.contract.making import LANE, enqueue_one, new_jobs, new_lease
from tests.contract.world import World

OTHER = LANE._replace(tenant="globex")


async def test_what_waits_is_counted_by_lane_without_what_runs(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(5) + new_jobs(2, OTHER))
    await enqueue_one(store, delay=60.0)
    await store.jobs.claim([Quota(LANE.id, 2)], new_lease())
    assert await store.backpressure.waiting() == {LANE: (3, 4), OTHER: (2, 2)}


async def test_a_sample_replaces_the_one_before_and_has_an_age(world: World) -> None:
    await world.store.backpressure.write_backlog({"": 9, "acme": 5})
    await world.store.backpressure.write_backlog({"": 7, "globex": 3}, 2.0)
    world.advance(4)
    found = await world.store.backpressure.read_backlog(["", "acme", "globex", "unknown"])
    assert found == {"": SampledBacklog(7, 6.0), "globex": SampledBacklog(3, 6.0)}
    await world.store.backpressure.write_backlog({})
    assert await world.store.backpressure.read_backlog(["", "globex"]) == {}


async def test_counts_of_what_was_not_accepted_add_up(store: Store) -> None:
    assert await store.backpressure.admissions() == {}
    await store.backpressure.count_admissions({("acme", "SHED"): 2, ("acme", "OVERLOADED"): 1})
    await store.backpressure.count_admissions({("acme", "SHED"): 3, ("globex", "SHED"): 1})
    assert await store.backpressure.admissions() == {
        ("acme", "OVERLOADED"): 1,
        ("acme", "SHED"): 5,
        ("globex", "SHED"): 1,
    }
