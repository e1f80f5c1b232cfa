"""kill -9 under load: nothing is lost, nothing is settled twice, others take over soon."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

import fairlead
from fairlead.core.jobs.failure import CRASH_LIMIT
from tests.faults.conftest import Scene
from tests.support.processes import LEASE, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


async def test_jobs_of_a_killed_worker_are_run_by_another(scene: Scene) -> None:
    jobs = await scene.enqueue("step", 200, seconds=0.3)
    with scene.worker("victim", "--concurrency", "20") as victim, scene.worker("other", "--concurrency", "20"):
        await until(lambda: len(scene.journal("end")) > 40, "work under way")
        await until(lambda: bool(unended(scene, victim.child_pids())), "the victim to be at work")
        victims = victim.child_pids()
        victim.signal_group(signal.SIGKILL)
        killed_at = time.time()
        await scene.drained()
    for job in jobs:
        assert await job.state() is fairlead.State.SUCCEEDED
    started, cut_off = scene.journal("start"), unended(scene, victims)
    assert cut_off, "the kill must hit running jobs, or this test proves nothing"
    for job_id in cut_off:
        again = min(line.time for line in started if line.job == job_id and line.time > killed_at)
        assert again - killed_at < LEASE + 3
        assert [attempt.ending for attempt in await scene.app.attempts(job_id)] == ["lost"]
        assert (await scene.app.read(job_id)).attempt == 1, "a crash burns no attempt"
    repeated = [job_id for job_id, count in Counter(line.job for line in started).items() if count > 1]
    for job_id in repeated:  # also those that had ended, but were not settled when the kill came
        assert [attempt.ending for attempt in await scene.app.attempts(job_id)] == ["lost"]


async def test_a_killed_child_is_replaced_and_its_jobs_run_again_before_the_lease_is_over(scene: Scene) -> None:
    (job,) = await scene.enqueue("step", 1, seconds=1.0)
    with scene.worker() as worker:
        await until(lambda: bool(worker.child_pids()), "the job to start")
        (child,) = worker.child_pids()
        os.kill(child, signal.SIGKILL)
        assert await job.wait(30) == 2
        assert "process_ended" in worker.text()


async def test_a_killed_supervisor_leaves_a_child_that_finishes_and_ends(scene: Scene) -> None:
    (job,) = await scene.enqueue("step", 1, seconds=0.3)
    with scene.worker() as worker:
        await until(lambda: bool(worker.child_pids()), "the job to start")
        (child,) = worker.child_pids()
        os.kill(worker.process.pid, signal.SIGKILL)
        assert await job.wait(30) == 1, "the child finishes what it can within its lease"
        await until(lambda: not _alive(child), "the orphan to end by itself")


async def test_a_job_that_kills_its_worker_is_dead_after_its_crash_limit_and_others_live(scene: Scene) -> None:
    (bad,) = await scene.enqueue("kill_worker")
    good = await scene.enqueue("step", 20, seconds=0.0)
    with scene.worker("a", "--concurrency", "1"):
        with pytest.raises(fairlead.JobFailed, match="LeaseLost"):
            await bad.wait(60)
        for job in good:
            assert await job.wait(60) is not None
    record = await bad.read()
    assert (record.state, record.crashes, record.attempt) == (fairlead.State.DEAD, CRASH_LIMIT, 0)
    assert len([line for line in scene.journal("start") if line.job == bad.id]) == CRASH_LIMIT


def unended(scene: Scene, pids: set[int]) -> set[str]:
    """The jobs that these processes have begun and not ended."""
    ended = {(line.job, line.fence) for line in scene.journal("end")}
    return {line.job for line in scene.journal("start") if line.pid in pids and (line.job, line.fence) not in ended}


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
