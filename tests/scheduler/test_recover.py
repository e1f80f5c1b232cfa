"""The recoverer: it takes jobs from workers that are gone, and from no others."""

from typing import Any

import pytest

from fairlead.core.jobs.model import Held
from fairlead.core.jobs.states import State
from fairlead.scheduler.recover import Recoverer
from fairlead.telemetry.events import Event, Telemetry
from tests.contract.making import claim_one, enqueue_one, new_lease, state_of, worker_info
from tests.contract.world import World


async def test_a_worker_that_comes_back_while_its_jobs_are_recovered_keeps_them(
    world: World, telemetry: Telemetry, told: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    job, lease = await enqueue_one(world.store), new_lease()
    await claim_one(world.store, lease)
    look = world.store.reader.lost

    async def come_back_after_the_look(*given: Any) -> list[Held]:
        found = await look(*given)
        await world.store.workers.register(worker_info(lease.owner), 30)
        return found

    monkeypatch.setattr(world.store.reader, "lost", come_back_after_the_look)
    await Recoverer(world.store, 1.0, telemetry).run_once()
    assert await state_of(world.store, job.id) is State.RUNNING
    assert await world.store.reader.attempts(job.id) == []
    assert told == []
    assert (await world.store.run_counts.read()).sums == {}
