"""Worker processes that an operator tells to end are not replaced."""

import asyncio

import pytest

from fairlead.operate.workers import Direction, direct
from fairlead.runtime.operator import Operator
from tests.faults.conftest import Scene
from tests.support.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


async def test_when_all_are_dismissed_the_supervisor_ends_in_order(scene: Scene) -> None:
    with scene.worker("worker", "--processes", "2") as supervisor:
        store = await scene.app.store()
        workers: list[str] = []
        while len(workers) < 2:
            await asyncio.sleep(0.05)
            workers = [record.info.id for record in await store.workers.all()]
        for worker_id in workers:
            await direct(store, worker_id, Direction.DRAIN, Operator("tests"))
        await until(lambda: supervisor.process.poll() is not None, "the supervisor to end")
        assert supervisor.process.wait(20) == 0, supervisor.text()
        assert await store.workers.all() == []
    assert supervisor.text().count("worker_started") == 2
