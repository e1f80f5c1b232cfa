"""Schedulers that are killed, stopped and continued, or have a wrong clock: promotion goes on, by the store's time."""

import asyncio
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fairlead
from fairlead.handlers.options import Options
from fairlead.records.workers import SERVICES_ROLE
from tests.faults import app as declared
from tests.faults.conftest import Scene
from tests.support.processes import LEAD, SchedulerProcess, SkewedScheduler, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


async def leading(scene: Scene, name: str) -> SchedulerProcess:
    """A scheduler that leads."""
    process = SchedulerProcess(scene.url, scene.folder, name)
    await until(lambda: bool(process.told("lead_taken")), f"{name} to lead")
    return process


async def schedule(scene: Scene, **options: object) -> fairlead.Job:
    """Submit a job of the fault app for later; no worker is there to run it."""
    client = await scene.app.client()
    (job,) = await client.enqueue(declared.app.registry["step"], [{}], Options().but(**options))
    return job


async def becomes_ready(job: fairlead.Job) -> None:
    """Wait until somebody has promoted the job."""
    deadline = time.monotonic() + 30
    while await job.state() is not fairlead.State.READY:
        assert time.monotonic() < deadline, "nobody promoted the job"
        await asyncio.sleep(0.05)


async def test_when_the_leader_is_killed_another_promotes(scene: Scene) -> None:
    with await leading(scene, "first") as first, SchedulerProcess(scene.url, scene.folder, "second") as second:
        await becomes_ready(await schedule(scene, run_in="100ms"))
        first.signal_group(signal.SIGKILL)
        await becomes_ready(await schedule(scene, run_in="100ms"))
        assert [line["term"] for line in second.told("lead_taken")] == [2]


async def test_a_leader_that_stops_orderly_is_followed_before_its_lead_ends(scene: Scene) -> None:
    with await leading(scene, "first") as first, SchedulerProcess(scene.url, scene.folder, "second") as second:
        first.process.terminate()
        assert await asyncio.to_thread(first.process.wait, 30) == 0
        await until(lambda: bool(second.told("lead_taken")), "the second to lead")


async def test_a_leader_that_was_stopped_and_goes_on_follows(scene: Scene) -> None:
    with await leading(scene, "first") as first, SchedulerProcess(scene.url, scene.folder, "second") as second:
        await scene.freeze(first)
        await until(lambda: bool(second.told("lead_taken")), "the second to lead")
        first.signal_group(signal.SIGCONT)
        await until(lambda: bool(first.told("lead_lost")), "the first to notice")
        await becomes_ready(await schedule(scene, run_in=LEAD))
        assert len(first.told("lead_taken")) == 1
        leader = await (await scene.app.store()).leadership.current(SERVICES_ROLE)
        assert leader is not None
        assert (leader.identity, leader.term) == (second.told("lead_taken")[0]["identity"], 2)


@pytest.mark.postgres
async def test_a_scheduler_whose_clock_is_an_hour_off_changes_nothing(postgres_url: str, tmp_path: Path) -> None:
    in_half_an_hour = datetime.now(UTC) + timedelta(minutes=30)
    async with fairlead.App(postgres_url) as app:
        scene = Scene(postgres_url, tmp_path, app)
        later = await schedule(scene, run_at=in_half_an_hour)
        urgent = await schedule(scene, not_after=in_half_an_hour)
        with SkewedScheduler(postgres_url, tmp_path, "skewed") as skewed:
            await until(lambda: bool(skewed.told("lead_taken")), "it to lead")
            for _ in range(2):
                await becomes_ready(await schedule(scene, run_in="200ms"))
            assert len(skewed.told("lead_taken")) == 1
        assert await later.state() is fairlead.State.SCHEDULED
        assert await urgent.state() is fairlead.State.READY
    told = datetime.fromisoformat(skewed.told("lead_taken")[0]["timestamp"])
    assert told > in_half_an_hour, "its clock must be wrong, or this test proves nothing"
