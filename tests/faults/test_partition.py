"""A worker that is cut off from PostgreSQL stops its handlers before others may run its jobs."""

from pathlib import Path

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import LEASE, WorkerProcess, until
from tests.support.proxy import cutting_proxy

pytestmark = [pytest.mark.faults, pytest.mark.postgres, pytest.mark.timeout(120)]


async def test_a_worker_whose_claim_has_no_answer_stops_its_handlers(postgres_url: str, tmp_path: Path) -> None:
    async with fairlead.App(postgres_url) as app, cutting_proxy(postgres_url) as (proxy, through):
        scene = Scene(postgres_url, tmp_path, app)
        (job,) = await scene.enqueue("step", 1, seconds=LEASE + 1)
        with WorkerProcess(through, tmp_path, "cut-off") as cut_off:
            await until(lambda: bool(scene.journal("start")), "the job to start")
            proxy.hold()
            with scene.worker("other"):
                await until(lambda: len(scene.journal("start")) == 2, "another worker to take the job over")
                assert await job.wait(30) == 2
            assert [line.fence for line in scene.journal("end")] == [2], "the first run went on without a lease"
            proxy.let_go()
            await until(lambda: "process_ended" in cut_off.text(), "the cut-off worker to end")
