"""PostgreSQL crashes under load: nothing is lost, and work goes on without help."""

import asyncio
import time
from pathlib import Path

import pytest

import fairlead
from tests.conftest import migrate_now
from tests.faults.conftest import Scene
from tests.support.postgres import PrivateServer
from tests.support.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.postgres, pytest.mark.timeout(120)]


async def test_an_immediate_restart_under_load_loses_nothing(tmp_path: Path) -> None:
    with PrivateServer(fsync=True) as server:
        url = server.create_database("jobs")
        await asyncio.to_thread(migrate_now, url)
        async with fairlead.App(url) as app:
            scene = Scene(url, tmp_path, app)
            jobs = await scene.enqueue("step", 400, seconds=0.05)
            with scene.worker("one", "--concurrency", "10") as one, scene.worker("two", "--concurrency", "10"):
                await until(lambda: len(scene.journal("end")) > 50, "work to be under way")
                producer = asyncio.create_task(scene.enqueue("step", 50, seconds=0.01))
                await asyncio.to_thread(server.restart, "immediate")
                back_at = time.time()
                before = len(scene.journal("end"))
                await until(lambda: len(scene.journal("end")) > before + 20, "work to go on", patience=10)
                assert time.time() - back_at < 10
                jobs += await producer
                await scene.drained()
                assert one.process.poll() is None, "no worker may have given up"
            for job in jobs:
                assert await job.state() is fairlead.State.SUCCEEDED


async def test_what_a_caller_was_told_survives_a_crash_of_everything(tmp_path: Path) -> None:
    with PrivateServer(fsync=True) as server:
        url = server.create_database("jobs")
        await asyncio.to_thread(migrate_now, url)
        async with fairlead.App(url) as app:
            scene = Scene(url, tmp_path, app)
            with scene.worker():
                finished = await scene.enqueue("step", 50, seconds=0.0)
                results = [await job.wait(30) for job in finished]
            waiting = await scene.enqueue("step", 50, seconds=0.0)
            server.stop("immediate")
        server.start()
        async with fairlead.App(url) as app:
            for job, result in zip(finished, results, strict=True):
                record = await app.read(job.id)
                assert (record.state, record.result) == (fairlead.State.SUCCEEDED, result)
            for job in waiting:
                assert (await app.read(job.id)).state is fairlead.State.READY
