"""Signals: draining, the deadline, and stopping at once."""

import asyncio
import http.client
import signal
import socket
import time
from contextlib import closing

import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import until


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def asked(port: int, path: str) -> int:
    """The status of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status


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
    assert await (await scene.app.store()).workers.all() == [], "a stopped worker leaves the register"


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


async def test_readiness_ends_with_the_first_signal_and_the_worker_is_seen_to_drain(scene: Scene) -> None:
    await scene.enqueue("step", 1, seconds=30.0)
    port = free_port()
    with scene.worker("one", "--health", str(port)) as worker:
        await until(lambda: bool(scene.journal("start")), "the job to start")
        await until(lambda: asked(port, "/readyz") == 200, "the supervisor to hear of its worker")
        worker.process.send_signal(signal.SIGTERM)
        await until(lambda: asked(port, "/readyz") == 503, "readiness to end")
        assert asked(port, "/healthz") == 200
        store = await scene.app.store()
        while [item.state for item in await store.workers.all()] != ["draining"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        worker.process.send_signal(signal.SIGINT)
        worker.process.wait(20)


async def test_ctrl_c_in_a_terminal_drains(scene: Scene) -> None:
    (job,) = await scene.enqueue("step", 1, seconds=1.0)
    with scene.worker() as worker:
        await until(lambda: bool(scene.journal("start")), "the job to start")
        worker.signal_group(signal.SIGINT)
        assert worker.process.wait(20) == 0, worker.text()
    assert await job.state() is fairlead.State.SUCCEEDED
