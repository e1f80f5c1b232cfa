"""Five schedulers at once, killed, stopped and continued at random; then a count of the fires that they made."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from random import Random

from fairlead import wiring
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.schedule.fires import created
from fairlead.core.schedule.schedules import CatchUp, Schedule, ScheduleSpec
from fairlead.records.store import Store

SCHEDULERS = 5
STEP = 0.01
PAGE = 1000
PATIENCE = 60.0
LANE = Lane("short", "acme", "tick", Priority.DEFAULT, 1)


class SchedulerProcess:
    """A scheduler that is started again after each kill."""

    def __init__(self, url: str) -> None:
        self._command = [sys.executable, "-m", "tests.support.recurrer", url]
        self.process = self._start()
        self.kills = self.stops = 0
        self.stopped = False

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL)

    def disturb(self, random: Random) -> None:
        """Continue it if it is stopped, else stop it or, now and then, kill it."""
        if self.stopped:
            self.go_on()
        elif random.random() < 0.25:
            self.end()
            self.process = self._start()
            self.kills += 1
        else:
            self.process.send_signal(signal.SIGSTOP)
            self.stopped = True
            self.stops += 1

    def go_on(self) -> None:
        """Continue a stopped process."""
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def end(self) -> None:
        """Kill it, as the kernel does: without a word."""
        self.process.kill()
        self.process.wait()


async def storm(url: str, disturbances: int, schedules: int, seed: int) -> int:
    """Let it storm; returns how many fires there were. Raises where one was doubled or missed."""
    store = wiring.make_store(url)
    await store.open()
    processes: list[SchedulerProcess] = []
    try:
        begun = [await _add(store, f"tick-{number}") for number in range(schedules)]
        processes += [SchedulerProcess(url) for _ in range(SCHEDULERS)]
        await _first_fires(store)
        await _disturb(processes, disturbances, Random(seed))
        ended = await _all_handled(store, await store.now())
        return await _count(store, begun, ended)
    finally:
        for item in processes:
            item.end()
        await store.close()


async def _add(store: Store, name: str) -> Schedule:
    spec = ScheduleSpec(name, f"every {round(STEP * 1000)}ms", "UTC", LANE, "{}", catch_up=CatchUp.ALL)
    write = created(spec, None, await store.now())
    assert await store.schedules.write(write, AuditNote("storm", "schedule add", name))
    return write.schedule


async def _first_fires(store: Store) -> None:
    """Wait until somebody is at work, or the storm would hit nobody."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if (await store.reader.list_jobs(JobFilter(), 1)).jobs:
                return
            await asyncio.sleep(0.02)


async def _disturb(processes: list[SchedulerProcess], times: int, random: Random) -> None:
    for _ in range(times):
        random.choice(processes).disturb(random)
        await asyncio.sleep(random.uniform(0.01, 0.08))
    for item in processes:
        item.go_on()
        assert item.process.poll() is None, "a scheduler has ended by itself"
    assert sum(item.kills for item in processes) > 0
    assert sum(item.stops for item in processes) > 0


async def _all_handled(store: Store, end: float) -> dict[str, Schedule]:
    """The schedules once each has dealt with all fires up to the end; it takes what it takes, but has to go on."""
    seen, deadline = 0.0, time.monotonic() + PATIENCE
    while True:
        found = {item.name: item for item in await store.schedules.page(PAGE)}
        handled = [item.handled_until for item in found.values()]
        if min(handled) >= end:
            return found
        if sum(handled) > seen:
            seen, deadline = sum(handled), time.monotonic() + PATIENCE
        assert time.monotonic() < deadline, f"nobody has made a fire for {PATIENCE:g} s"
        await asyncio.sleep(0.05)


async def _count(store: Store, begun: list[Schedule], ended: dict[str, Schedule]) -> int:
    """Compare the jobs with the fire times between the beginning and the end of each schedule."""
    made = Counter[tuple[str, int]]()
    cursor: str | None = None
    while True:
        page = await store.reader.list_jobs(JobFilter(), PAGE, cursor)
        for job in page.jobs:
            origin = json.loads(job.options or "{}")
            made[origin["schedule"], round(origin["fire_at"] / STEP)] += 1
        cursor = page.cursor
        if cursor is None:
            break
    doubled = [fire for fire, times in made.items() if times > 1]
    assert not doubled, f"made twice: {doubled[:5]}"
    wanted = {(item.name, step) for item in begun for step in _steps(item, ended[item.name])}
    missing = wanted - made.keys()
    assert not missing, f"never made: {sorted(missing)[:5]}"
    return len(wanted)


def _steps(begun: Schedule, ended: Schedule) -> range:
    return range(int(begun.handled_until / STEP + 1e-6) + 1, int(ended.handled_until / STEP + 1e-6) + 1)
