"""Limits while workers are killed: checked from the history of starts and ends, not from anything that counts."""

import signal
import time
from collections.abc import Iterable, Iterator
from random import Random

import pytest

import fairlead
from fairlead.handlers.options import Options
from fairlead.insight.protection import limits
from fairlead.runtime.operator import Operator
from tests.faults import app as declared
from tests.faults.conftest import Scene
from tests.support.processes import WorkerProcess, until
from tests.support.settings import set_limit

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

TOTAL, EACH, TENANT = 5, 2, 4
KILLS = 3
KEYS = ("a", "b", "c", "d")

Run = tuple[float, float, str]


async def test_no_limit_is_exceeded_at_any_instant_while_workers_are_killed(scene: Scene) -> None:
    await run_with_kills(scene, Random(8), 120, KILLS)


async def run_with_kills(scene: Scene, chance: Random, jobs: int, kills: int, patience: float = 200.0) -> None:
    """Run so many jobs under limits, kill a worker so often, and look at the history."""
    store = await scene.app.store()
    await set_limit(store, "tenant", "default", Operator("ada", "a test"), concurrent=TENANT)
    keys = await enqueue(scene, chance, jobs)
    died_at: dict[int, float] = {}
    crew = [scene.worker(f"worker-{number}", "--concurrency", "8") for number in range(3)]
    try:
        for number in range(kills):
            await killed_at_work(scene, crew, chance, died_at)
            crew.append(scene.worker(f"fresh-{number}", "--concurrency", "8"))
        await scene.drained(patience)
    finally:
        for worker in crew:
            worker.__exit__()
    runs = list(history(scene, keys, died_at))
    assert peak(runs) == TENANT, "more ran at once than the tenant may, or too few for this test to prove anything"
    for key in KEYS:
        assert peak([run for run in runs if run[2] == key]) <= EACH
    cut_off = [run for run in runs if run[1] in died_at.values()]
    assert cut_off, "a kill must hit running jobs, or this test proves nothing"
    assert {await record_state(scene, job) for job in keys} == {fairlead.State.SUCCEEDED}
    assert [item.running for item in await limits(store)] == [0] * 3


async def test_what_a_killed_worker_held_is_free_once_it_is_recovered(scene: Scene) -> None:
    client = await scene.app.client()
    calls = [{"key": "a", "seconds": 1.0}] * (EACH + 1)
    jobs = await client.enqueue(declared.app.registry["limited"], calls, Options())
    with scene.worker("victim") as victim:
        await until(lambda: len(scene.journal("start")) == EACH, "the limit to be full")
        victim.signal_group(signal.SIGKILL)
    with scene.worker("next"):
        for job in jobs:
            await job.wait(90)


async def enqueue(scene: Scene, chance: Random, count: int) -> dict[str, str]:
    """Submit jobs of all keys; returns the key of each."""
    calls = [{"key": KEYS[at % len(KEYS)], "seconds": chance.uniform(0.05, 0.2)} for at in range(count)]
    client = await scene.app.client()
    jobs = await client.enqueue(declared.app.registry["limited"], calls, Options())
    return {job.id: call["key"] for job, call in zip(jobs, calls, strict=True)}  # type: ignore[misc]


async def killed_at_work(scene: Scene, crew: list[WorkerProcess], chance: Random, died_at: dict[int, float]) -> None:
    """Kill any worker that runs jobs just now."""

    def at_work() -> list[WorkerProcess]:
        ended = {(line.job, line.fence) for line in scene.journal("end")}
        busy = {line.pid for line in scene.journal("start") if (line.job, line.fence) not in ended} - died_at.keys()
        return [worker for worker in crew if worker.process.poll() is None and worker.child_pids() & busy]

    await until(lambda: bool(at_work()), "work under way", patience=120)
    victim = chance.choice(at_work() or [worker for worker in crew if worker.process.poll() is None])
    pids = victim.child_pids()
    victim.signal_group(signal.SIGKILL)
    victim.process.wait()
    died_at.update(dict.fromkeys(pids | victim.child_pids(), time.time()))


def history(scene: Scene, keys: dict[str, str], died_at: dict[int, float]) -> Iterator[Run]:
    """Each run with its start and its end; one that was cut off ended with its process."""
    ends = {(line.job, line.fence): line.time for line in scene.journal("end")}
    for line in scene.journal("start"):
        ended = ends.get((line.job, line.fence))
        yield line.time, died_at.get(line.pid, line.time) if ended is None else ended, keys[line.job]


def peak(runs: Iterable[Run]) -> int:
    """How many ran at the busiest instant; at one instant ends come before starts."""
    events = sorted([(start, 1) for start, _, _ in runs] + [(end, -1) for _, end, _ in runs])
    running = most = 0
    for _, change in events:
        running += change
        most = max(most, running)
    return most


async def record_state(scene: Scene, job_id: str) -> fairlead.State:
    """Where a job is."""
    return (await scene.app.read(job_id)).state
