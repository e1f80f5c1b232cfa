"""Long jobs and kill -9: a resumed job repeats at most what it did since its last checkpoint."""

import os
import signal
import time
from collections import Counter
from random import Random

import psycopg
import pytest

import fairlead
from tests.faults.conftest import Scene
from tests.support.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]

ITEMS = 60
KILLS = 5
INTERVAL = 1.0
SLACK = 1.0  # for a busy machine


async def kill_often(scene: Scene, pause: tuple[int, int]) -> list[float]:
    """Kill the process that runs the job, several times, each time after a few more items; returns when."""
    dice, killed = Random(7), []
    for _ in range(KILLS):
        more = len(scene.journal()) + dice.randint(*pause)
        await until(lambda more=more: len(scene.journal()) >= more, "more items")  # type: ignore[misc]
        killed.append(time.time())
        os.kill(scene.journal()[-1].pid, signal.SIGKILL)
    return killed


async def test_a_killed_job_repeats_at_most_an_interval(scene: Scene) -> None:
    (job,) = await scene.enqueue("items", 1, total=ITEMS, seconds=0.15)
    with scene.worker():
        killed = await kill_often(scene, (8, 11))
        assert await job.wait(60) == 1, "a resumption is not an attempt"
    lines = scene.journal()
    assert {line.what for line in lines} == {str(item) for item in range(ITEMS)}
    runs = sorted({line.fence for line in lines})
    assert len(runs) == KILLS + 1
    for fence, kill in zip(runs, killed, strict=False):
        again = {line.what for line in lines if line.fence > fence}
        lost = [line for line in lines if line.fence == fence and line.what in again]
        assert all(kill - line.time < INTERVAL + SLACK for line in lost)
        assert len(lost) < 8, "a run never begins again"
    last = (await (await scene.app.store()).checkpoints.last([job.id]))[job.id]
    assert last.resumptions == KILLS


@pytest.mark.parametrize("scene", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
async def test_with_transactional_checkpoints_no_item_is_done_twice(scene: Scene) -> None:
    with psycopg.connect(scene.url, autocommit=True) as connection:
        connection.execute("create table moved (item int)")
        try:
            (job,) = await scene.enqueue("move", 1, total=ITEMS, seconds=0.02)
            with scene.worker():
                await kill_often(scene, (1, 9))
                assert await job.wait(60) == 1
            found = [row[0] for row in connection.execute("select item from moved order by item")]
        finally:
            connection.execute("drop table moved")
    assert found == list(range(ITEMS))


@pytest.mark.parametrize("kind", ["items", "thread_items"])
async def test_a_drain_saves_a_checkpoint_and_burns_no_attempt(
    scene: Scene, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_DRAIN", "0s")
    (job,) = await scene.enqueue(kind, 1, total=20, seconds=0.1)
    with scene.worker("first") as first:
        await until(lambda: len(scene.journal()) >= 5, "items")
        first.process.send_signal(signal.SIGTERM)
        first.process.wait(30)
    record = await scene.app.read(job.id)
    assert (record.state, record.attempt) == (fairlead.State.READY, 0)
    with scene.worker("second"):
        assert await job.wait(30) == 1
    assert {line.what for line in scene.journal()} == {str(item) for item in range(20)}
    assert max(Counter(line.what for line in scene.journal()).values()) <= 2
    assert sum(Counter(line.what for line in scene.journal()).values()) <= 21, "only the row in hand is repeated"
