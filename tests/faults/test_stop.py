"""Signals: draining, the deadline, and stopping at once."""

import signal
import time

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


async def test_terminating_finishes_what_runs_and_takes_nothing_new(scene: Scene) -> None:
    first = await scene.enqueue("step", 2, seconds=1.0)
    with scene.worker("one", "--concurrency", "2") as worker:
        await until(lambda: len(scene.journal("start")) == 2, "both to start")
        rest = await scene.enqueue("step", 3, seconds=0.0)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(20) == 0, worker.text()
    assert [await job.state() for job in first] == [fairlead.State.SUCCEEDED] * 2
    assert [await job.state() for job in rest] == [fairlead.State.READY] * 3
    assert await (await scene.app.store()).workers() == [], "a stopped worker leaves the register"


async def test_what_does_not_finish_in_time_is_given_back_without_burning_an_attempt(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_DRAIN", "0.5s")
    (job,) = await scene.enqueue("step", 1, seconds=30.0)
    with scene.worker() as worker:
        await until(lambda: bool(scene.journal("start")), "the job to start")
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(20) == 0, worker.text()
    record = await job.read()
    assert (record.state, record.attempt, record.crashes) == (fairlead.State.READY, 0, 0)
    assert [attempt.ending for attempt in await job.attempts()] == ["released"]


async def test_a_second_signal_stops_at_once(scene: Scene) -> None:
    (job,) = await scene.enqueue("step", 1, seconds=30.0)
    with scene.worker() as worker:
        await until(lambda: bool(scene.journal("start")), "the job to start")
        worker.process.send_signal(signal.SIGTERM)
        await until(lambda: bool(worker.child_pids()), "the child")
        worker.process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        worker.process.wait(20)
        assert time.monotonic() - asked < 10
    assert (await job.read()).state is fairlead.State.READY


async def test_ctrl_c_in_a_terminal_drains(scene: Scene) -> None:
    (job,) = await scene.enqueue("step", 1, seconds=1.0)
    with scene.worker() as worker:
        await until(lambda: bool(scene.journal("start")), "the job to start")
        worker.signal_group(signal.SIGINT)
        assert worker.process.wait(20) == 0, worker.text()
    assert await job.state() is fairlead.State.SUCCEEDED
