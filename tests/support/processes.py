"""Workers as real processes in groups of their own, and the journal that their handlers write."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

LEASE = 3.0
HEARTBEAT = 0.5
LEAD = 1.5
PATIENCE = 60.0
SKEW = "time_machine.travel(time.time() + 3600, tick=True).start()"


def heed_ctrl_c() -> None:
    """For a new process: what shells start in the background ignores Ctrl-C, and so would all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Line(NamedTuple):
    """One line of the journal."""

    what: str
    job: str
    attempt: int
    fence: int
    pid: int
    time: float


def read_journal(path: Path) -> list[Line]:
    """All whole lines written so far."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text().splitlines():
        what, job, attempt, fence, pid, moment = text.split()
        lines.append(Line(what, job, int(attempt), int(fence), int(pid), float(moment)))
    return lines


class WorkerProcess:
    """`fairlead worker` with short leases; leaving the context kills whatever is left of its group.

    `variables` are added to its environment.
    """

    def __init__(self, url: str, folder: Path, name: str = "worker", *options: str, **variables: str) -> None:
        self.journal = folder / "journal"
        self.log = folder / f"{name}.log"
        environment = {
            **os.environ,
            "FAIRLEAD_DATABASE_URL": url,
            "FAIRLEAD_LEASE": str(LEASE),
            "FAIRLEAD_HEARTBEAT": str(HEARTBEAT),
            "FAIRLEAD_POLL": "0.5",
            "FAIRLEAD_LEAD": str(LEAD),
            "FAULTS_JOURNAL": str(self.journal),
            **variables,
        }
        command = [sys.executable, *self.program(), *options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def program(self) -> list[str]:
        """What it runs."""
        return ["-m", "fairlead", "worker", "tests.faults.app:app", "--pool", "short"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.signal_group(signal.SIGCONT)
        self.signal_group(signal.SIGKILL)
        self.process.wait()

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the supervisor and its children."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return

    def child_pids(self) -> set[int]:
        """The processes of this group that have written to the journal."""
        return {line.pid for line in read_journal(self.journal) if _group_of(line.pid) == self.process.pid}

    def text(self) -> str:
        """Its log so far."""
        return self.log.read_text(errors="replace")


class SchedulerProcess(WorkerProcess):
    """`fairlead scheduler`, which logs when it leads."""

    def program(self) -> list[str]:
        """What it runs."""
        return ["-m", "fairlead", "scheduler", "tests.faults.app:app"]

    def told(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one kind, in order."""
        lines = [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]


class SkewedScheduler(SchedulerProcess):
    """A scheduler whose own clock is an hour ahead."""

    def program(self) -> list[str]:
        """What it runs."""
        return [
            "-c",
            f"import time_machine, time; {SKEW}; from fairlead.cli import main; main()",
            *super().program()[2:],
        ]


async def until(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait for something that real processes bring about."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:g} s in vain for: {what}")
        await asyncio.sleep(0.02)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
