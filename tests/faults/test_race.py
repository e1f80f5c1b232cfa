"""Two workers, one of them with two processes, race for the same jobs: each job runs once."""

from collections import Counter

import pytest

from tests.faults.conftest import Scene
from tests.support.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


async def test_two_workers_racing_for_ten_thousand_jobs_run_each_once(scene: Scene) -> None:
    left_options, right_options = ("--concurrency", "100", "--processes", "2"), ("--concurrency", "200")
    with scene.worker("left", *left_options) as left, scene.worker("right", *right_options) as right:
        await until(lambda: (left.text() + right.text()).count("worker_started") == 3, "all three processes")
        jobs = await scene.enqueue("step", 10_000, seconds=0.0)
        await scene.drained(120)
        assert len(left.child_pids() | right.child_pids()) >= 2, "one process alone is no race"
    runs = Counter(line.job for line in scene.journal("end"))
    assert len(runs) == len(jobs)
    assert set(runs.values()) == {1}
