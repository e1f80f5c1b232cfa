"""Every change of state is in the job's timeline, whatever the store, with the instants at which it happened."""

from fairlead.core.jobs.model import Ending
from fairlead.core.jobs.states import State
from fairlead.operate.cancel_jobs import cancel_one
from fairlead.operate.dead_letters import replay_one, show
from fairlead.runtime.operator import Operator
from tests.contract.making import claim_one, ended, enqueue_one, failed, new_lease
from tests.contract.world import World

ANN = Operator("ann", "because")


async def test_a_whole_life_is_told(world: World) -> None:
    store, start = world.store, world.clock()
    job = await enqueue_one(store, delay=10)
    world.advance(11)
    await store.promotion.promote(10)
    world.advance(1)
    await store.jobs.settle([failed(await claim_one(store, new_lease()))])  # at 12; waits for 10 s
    world.advance(12)
    await store.promotion.promote(10)
    world.advance(1)
    await claim_one(store, await world.worker(10))  # at 25
    world.advance(11)
    (lost,) = await store.reader.lost(10)
    await store.jobs.settle([ended(lost, Ending.LOST)], expired_only=True)  # at 36
    world.advance(1)
    dying = await claim_one(store, new_lease())
    world.advance(1)
    await store.jobs.settle([failed(dying, permanent=True)])  # at 38
    world.advance(10)
    await replay_one(store, job.id, ANN)  # at 48
    world.advance(1)
    last = await claim_one(store, new_lease())
    world.advance(1)
    await cancel_one(store, job.id, ANN)  # at 50
    world.advance(1)
    (held,) = await store.reader.held([last.id])
    await store.jobs.settle([ended(held, Ending.CANCELLED)])

    moments = (await show(store, job.id)).timeline()
    assert [(round(moment.at.timestamp() - start, 3), moment.what, moment.state) for moment in moments] == [
        (0, "enqueued", State.SCHEDULED),
        (11, "ready", State.READY),
        (12, "claimed", State.RUNNING),
        (12, "failed", State.RETRYING),
        (24, "ready", State.READY),
        (25, "claimed", State.RUNNING),
        (36, "lost", State.READY),
        (37, "claimed", State.RUNNING),
        (38, "failed", State.DEAD),
        (48, "replayed", State.READY),
        (49, "claimed", State.RUNNING),
        (50, "cancel requested", None),
        (51, "cancelled", State.CANCELLED),
    ]
    assert moments[-1].error is not None
    assert moments[-1].error.message == "cancelled by ann: because"


async def test_a_job_that_is_cancelled_while_it_waits(world: World) -> None:
    store, start = world.store, world.clock()
    job = await enqueue_one(store, delay=100)
    world.advance(5)
    await cancel_one(store, job.id, ANN)
    moments = (await show(store, job.id)).timeline()
    assert [(round(moment.at.timestamp() - start, 3), moment.what, moment.state) for moment in moments] == [
        (0, "enqueued", State.SCHEDULED),
        (5, "cancelled", State.CANCELLED),
    ]
