"""Programs that handlers start and that would outlive their worker."""

import contextlib
import os
import signal
import sys

import pytest

from tests.faults.conftest import Scene
from tests.support.processes import until

pytestmark = [
    pytest.mark.faults,
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another process"),
]


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and was not waited for yet is none."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("heeds", [True, False])
async def test_a_program_does_not_outlive_a_drained_worker(scene: Scene, heeds: bool) -> None:
    (job,) = await scene.enqueue("start_program", 1, heeds=heeds)
    with scene.worker() as worker:
        pid = await job.wait(30)
        assert runs(pid)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(30) == 0, worker.text()
        assert not runs(pid)
        assert f"the process {pid} (python" in worker.text()


async def test_a_program_does_not_outlive_a_killed_worker(scene: Scene) -> None:
    (job,) = await scene.enqueue("start_program", 1)
    with scene.worker() as worker:
        pid = await job.wait(30)
        (child,) = worker.child_pids()
        os.kill(child, signal.SIGKILL)
        await until(lambda: not runs(pid), "the program to be ended")
        assert worker.process.poll() is None


async def test_a_program_in_a_session_of_its_own_goes_on(scene: Scene) -> None:
    (job,) = await scene.enqueue("start_program", 1, detached=True)
    with scene.worker() as worker:
        pid = await job.wait(30)
        try:
            worker.process.send_signal(signal.SIGTERM)
            assert worker.process.wait(30) == 0, worker.text()
            assert runs(pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
