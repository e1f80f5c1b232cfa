"""Cancelling, effects and transactions when processes die."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import until

GAVE_UP = ("lease_ended", "settlement_refused", "process_ended")
pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


async def test_a_job_in_another_process_is_cancelled(scene: Scene) -> None:
    (job,) = await scene.enqueue("step", 1, seconds=3600)
    with scene.worker() as worker:
        await until(lambda: len(scene.journal("start")) == 1, "the job to start")
        assert await scene.app.cancel(job.id, reason="not needed") is fairlead.State.RUNNING
        await scene.drained()
        (again,) = await scene.enqueue("step")
        assert await again.wait(30) == 1, "its slot is free again"
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(30) == 0, worker.text()
    assert await job.state() is fairlead.State.CANCELLED
    assert [step.what for step in await scene.app.timeline(job.id)] == [
        "enqueued", "claimed", "cancel requested", "cancelled",
    ]  # fmt: skip


async def test_a_thread_in_another_process_that_does_not_look_is_left_behind(scene: Scene) -> None:
    (job,) = await scene.enqueue("wait_for_file", 1, path=str(scene.folder / "never"))
    with scene.worker() as worker:
        await until(lambda: len(scene.journal("start")) == 1, "the job to start")
        await scene.app.cancel(job.id, grace="200ms")
        await scene.drained()
        await until(lambda: "thread_lost" in worker.text(), "the lost thread to be counted")
    assert await job.state() is fairlead.State.CANCELLED


async def test_a_worker_that_dies_with_a_pending_wish_leaves_a_cancelled_job(scene: Scene) -> None:
    """Its handler does not look, and it is killed long before the grace is over; another recovers its jobs."""
    gate = scene.folder / "gate"
    job, other = await scene.enqueue("wait_for_file", 2, path=str(gate))
    with scene.worker("victim") as victim:
        await until(lambda: len(scene.journal("start")) == 2, "both jobs to start")
        assert await scene.app.cancel(job.id, grace="1h") is fairlead.State.RUNNING
        victim.signal_group(signal.SIGKILL)
        gate.touch()
        with scene.worker("heir"):
            await scene.drained()
    assert await job.state() is fairlead.State.CANCELLED
    assert [attempt.ending for attempt in await job.attempts()] == ["lost"]
    assert len([line for line in scene.journal("start") if line.job == job.id]) == 1, "it was not run again"
    assert await other.state() is fairlead.State.SUCCEEDED, "what nobody wanted cancelled was run again"


async def test_an_effect_is_not_repeated_after_a_crash(scene: Scene) -> None:
    (job,) = await scene.enqueue("pay", 1, crash=True)
    with scene.worker():
        assert await job.wait(60) == "receipt 1"
    assert len(scene.journal("charge")) == 1
    assert [attempt.ending for attempt in await job.attempts()] == ["lost"]


async def test_replaying_a_dead_job_does_not_repeat_its_effect(scene: Scene) -> None:
    paper = scene.folder / "paper"
    (job,) = await scene.enqueue("pay", 1, fail_until=str(paper))
    with scene.worker("first"), pytest.raises(fairlead.JobFailed, match="out of paper"):
        await job.wait(60)
    paper.touch()
    with scene.worker("second"):
        await scene.app.replay(job.id, reason="paper has arrived")
        assert await job.wait(60) == "receipt 1"
    (charge,) = scene.journal("charge")
    assert charge.fence == 1
    whats = [step.what for step in await scene.app.timeline(job.id)]
    assert whats == ["enqueued", "claimed", "failed", "replayed", "claimed", "succeeded"]


@pytest.fixture
async def bookings(postgres_url: str, tmp_path: Path) -> AsyncIterator[Scene]:
    """A scene on PostgreSQL with a table of the user's."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table booking (job uuid, fence bigint)")
    async with fairlead.App(postgres_url) as app:
        yield Scene(postgres_url, tmp_path, app)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop table booking")


def booked(scene: Scene) -> list[tuple[str, int]]:
    """What the user's table has."""
    with psycopg.connect(scene.url) as connection:
        return connection.execute("select job::text, fence from booking").fetchall()


@pytest.mark.postgres
async def test_a_crash_before_the_commit_keeps_neither_writes_nor_success(bookings: Scene) -> None:
    (job,) = await bookings.enqueue("book", 1, crash=True)
    with bookings.worker():
        assert await job.wait(60) == 2
    assert booked(bookings) == [(job.id, 2)]
    assert [attempt.ending for attempt in await job.attempts()] == ["lost"]


@pytest.mark.postgres
async def test_a_zombie_commits_neither_writes_nor_success(bookings: Scene) -> None:
    """It is frozen with its transaction open until another worker has run its job, and then goes on."""
    (job,) = await bookings.enqueue("book", 1, seconds=1.0)
    with bookings.worker("zombie") as zombie:
        await until(lambda: bool(zombie.child_pids()), "the job to start")
        zombie.signal_group(signal.SIGSTOP)
        with bookings.worker("other"):
            assert await job.wait(60) == 2
            zombie.signal_group(signal.SIGCONT)
            await until(lambda: any(word in zombie.text() for word in GAVE_UP), "the zombie to give up", 60)
    assert booked(bookings) == [(job.id, 2)]
    assert (await job.read()).result == 2
