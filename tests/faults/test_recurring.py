"""Schedulers that are killed and frozen: no fire is doubled and none is missed; and the fires go on without them."""

import os
import signal
import subprocess
import sys
from itertools import pairwise

import pytest

from tests.faults.conftest import Scene
from tests.support.processes import HEARTBEAT, LEASE, until
from tests.support.storm import storm

pytestmark = [pytest.mark.faults, pytest.mark.timeout(240)]

PATIENCE = 60.0


async def test_five_schedulers_in_a_storm_double_nothing_and_miss_nothing(scene: Scene) -> None:
    assert await storm(scene.url, disturbances=50, schedules=5, seed=20301) > 500


class Services:
    """`fairlead scheduler` as a process, with its log."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.log = scene.folder / f"{name}.log"
        environment = {
            **os.environ,
            "FAIRLEAD_DATABASE_URL": scene.url,
            "FAIRLEAD_LEASE": str(LEASE),
            "FAIRLEAD_HEARTBEAT": str(HEARTBEAT),
        }
        command = [sys.executable, "-m", "fairlead", "scheduler", "tests.faults.recurring:app"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def fires(self) -> int:
        """How many fires it has made."""
        return self.log.read_text(errors="replace").count('"schedule_fired"')

    def kill(self) -> None:
        """End it without a word."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


async def test_fires_go_on_when_the_leader_is_killed_and_none_is_lost(scene: Scene) -> None:
    services = [Services(scene, "first"), Services(scene, "second")]
    try:
        await until(lambda: max(item.fires() for item in services) > 5, "fires", PATIENCE)
        leader, other = sorted(services, key=Services.fires, reverse=True)
        leader.kill()
        before = other.fires()
        await until(lambda: other.fires() > before + 5, "the other to make the fires", PATIENCE)
    finally:
        for item in services:
            item.kill()
    moments = sorted(job.run_at for job in (await scene.app.jobs(limit=1000)).jobs)
    gaps = {round((later - earlier).total_seconds(), 3) for earlier, later in pairwise(moments)}
    assert gaps == {0.1}
