"""Frozen and blocked workers: a zombie changes nothing, a busy one keeps its lease."""

import asyncio
import signal
from pathlib import Path

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import LEASE, PATIENCE, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


async def refused_by(scene: Scene, pid: int) -> int | None:
    """How many of its writes a worker reports as refused; None if it has reported nothing yet."""
    reports = {worker.info.pid: worker.report for worker in await (await scene.app.store()).workers()}
    return reports.get(pid, {}).get("refused")


async def test_the_late_write_of_a_frozen_worker_is_refused_and_counted(scene: Scene, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (job,) = await scene.enqueue("wait_for_file", 1, path=str(gate))
    with scene.worker("zombie") as zombie:
        await until(lambda: bool(zombie.child_pids()), "the job to start")
        (zombie_pid,) = zombie.child_pids()
        await scene.freeze(zombie)
        with scene.worker("other") as other:
            await until(lambda: bool(other.child_pids()), "another worker to take the job over")
            gate.touch()
            winner = await job.wait(30)
            zombie.signal_group(signal.SIGCONT)
            await until(lambda: "settlement_refused" in zombie.text(), "the zombie's write to be refused")
            async with asyncio.timeout(PATIENCE):
                while not (refused := await refused_by(scene, zombie_pid)):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
    assert (winner != str(zombie_pid), refused) == (True, 1)
    record = await job.read()
    assert (record.state, record.result, record.fence) == (fairlead.State.SUCCEEDED, f'"{winner}"', 2)


@pytest.mark.parametrize("handler", ["block_loop", "hold_gil"])
async def test_a_handler_that_stops_its_process_keeps_the_lease(scene: Scene, handler: str) -> None:
    (job,) = await scene.enqueue(handler, 1, seconds=int(2 * LEASE))
    with scene.worker("busy"), scene.worker("rival"):
        assert await job.wait(60) == 1
    assert len(scene.journal("start")) == 1
    record = await job.read()
    assert (record.fence, record.crashes, await job.attempts()) == (1, 0, [])
