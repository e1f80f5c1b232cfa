"""Handlers that cannot be stopped: their process is replaced, and nothing else is lost."""

import signal

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


@pytest.mark.parametrize("handler", ["overrun", "ignore_stop"])
async def test_a_worker_with_too_many_lost_handlers_is_replaced(scene: Scene, handler: str) -> None:
    stuck = await scene.enqueue(handler, 4)
    with scene.worker("worker", "--concurrency", "8") as worker:
        await until(lambda: len(scene.journal("start")) == 4, "all four to start")
        (first,) = worker.child_pids()
        await until(lambda: "process_ended" in worker.text(), "the process to be replaced")
        jobs = await scene.enqueue("step", 10)
        assert [await job.wait(20) for job in jobs] == [1] * 10
        assert worker.child_pids() - {first}, "another process has taken over"
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(20) == 0, worker.text()
    assert worker.text().count("thread_lost") == 4
    assert worker.text().count("worker_worn") == 1
    for job in stuck:
        record = await job.read()
        assert (record.state, record.attempt, record.crashes) == (fairlead.State.DEAD, 1, 0)
        assert [attempt.ending for attempt in await job.attempts()] == ["timed_out"]


async def test_a_few_lost_handlers_do_not_replace_the_process(scene: Scene) -> None:
    await scene.enqueue("overrun", 3)
    with scene.worker("worker", "--concurrency", "8") as worker:
        await until(lambda: worker.text().count("thread_lost") == 3, "three lost threads")
        jobs = await scene.enqueue("step", 10)
        assert [await job.wait(20) for job in jobs] == [1] * 10
        assert len(worker.child_pids()) == 1
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(20) == 0, worker.text()
    assert "process_ended" not in worker.text()
