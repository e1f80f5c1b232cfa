"""Frozen and blocked workers: a zombie changes nothing, a busy one keeps its lease."""

import asyncio
import signal

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import LEASE, PATIENCE, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]

TRIES = 5


async def refused_by(scene: Scene, pid: int) -> int | None:
    """How many of its writes a worker reports as refused; None if it has reported nothing yet."""
    reports = {worker.info.pid: worker.report for worker in await (await scene.app.store()).workers.all()}
    return reports.get(pid, {}).get("refused")


async def test_the_late_write_of_a_frozen_worker_is_refused_and_counted(scene: Scene) -> None:
    for number in range(TRIES):
        if await wrote_late(scene, f"zombie-{number}"):
            return
    pytest.fail("no frozen worker has written late")


async def wrote_late(scene: Scene, name: str) -> bool:
    """Freeze a worker until another has done its job; False where it sees its lease ended first, and does not write."""
    gate = scene.folder / f"gate-of-{name}"
    (job,) = await scene.enqueue("wait_for_file", 1, path=str(gate))
    with scene.worker(name) as zombie:
        await until(lambda: bool(zombie.child_pids()), "the job to start")
        (zombie_pid,) = zombie.child_pids()
        await scene.freeze(zombie)
        with scene.worker(f"{name}-other") as other:
            await until(lambda: bool(other.child_pids()), "another worker to take the job over")
            gate.touch()
            winner = await job.wait(30)
            zombie.signal_group(signal.SIGCONT)
            ends = ("settlement_refused", "process_ended")
            await until(lambda: any(end in zombie.text() for end in ends), "the zombie to write, or to end itself")
            has_written, refused = ends[0] in zombie.text(), None
            async with asyncio.timeout(PATIENCE):
                while has_written and not (refused := await refused_by(scene, zombie_pid)):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
    assert (winner != str(zombie_pid), refused) == (True, 1 if has_written else None)
    record = await job.read()
    assert (record.state, record.result, record.fence) == (fairlead.State.SUCCEEDED, winner, 2)
    return has_written


@pytest.mark.parametrize("handler", ["block_loop", "hold_gil"])
async def test_a_handler_that_stops_its_process_keeps_the_lease(scene: Scene, handler: str) -> None:
    (job,) = await scene.enqueue(handler, 1, seconds=int(2 * LEASE))
    with scene.worker("busy"), scene.worker("rival"):
        assert await job.wait(60) == 1
    assert len(scene.journal("start")) == 1
    record = await job.read()
    assert (record.fence, record.crashes, await job.attempts()) == (1, 0, [])
