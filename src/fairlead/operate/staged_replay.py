"""A replay in stages: one job, then ten, then the rest in growing batches, until it ends or stops by itself."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead.core.jobs.dead_letters import TOLERANCE, Stage, stage_size, why_stop
from fairlead.core.jobs.job_records import JobFilter, JobRecord
from fairlead.core.jobs.states import State
from fairlead.errors import JobError
from fairlead.operate.dead_letters import TARGET, filter_document, list_dead, revive_all
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

PATIENCE = 300.0
LOOK_EVERY = 0.5
FIRST_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Pace:
    """How a replay waits: how long for a stage, how much failure it bears, and by which clock."""

    patience: float = PATIENCE
    tolerance: float = TOLERANCE
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class Look(NamedTuple):
    """A stage while it is waited for: how many jobs it brought back, and how many of them have not ended yet."""

    number: int
    revived: int
    live: int


@dataclass(slots=True)
class Report:
    """What a staged replay did; `stopped` says why it did not go on to the end."""

    stages: list[Stage] = field(default_factory=list)
    refused: dict[str, JobError] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def revived(self) -> int:
        """How many jobs were brought back."""
        return sum(stage.revived for stage in self.stages)


async def replay_in_stages(
    store: Store,
    wanted: JobFilter,
    operator: Operator,
    pace: Pace | None = None,
    most: int | None = None,
    on_stage: Callable[[Stage], None] = lambda stage: None,
    on_look: Callable[[Look], None] = lambda look: None,
) -> Report:
    """Bring back the dead jobs that fit, stage by stage; each must do well before the next begins."""
    pace, report, cursor, left = pace or Pace(), Report(), None, most
    while left is None or left > 0:
        number = 1 + sum(stage.revived > 0 for stage in report.stages)  # one that was refused whole proves nothing
        size = stage_size(number) if left is None else min(stage_size(number), left)
        page = await list_dead(store, wanted, size, cursor)
        if page.jobs:
            stage = await _run_stage(store, number, page.jobs, wanted, operator, pace, report, on_look)
            on_stage(stage)
            report.stopped = why_stop(stage, pace.tolerance)
        if report.stopped or page.cursor is None:
            break
        cursor, left = page.cursor, None if left is None else left - len(page.jobs)
    return report


async def _run_stage(
    store: Store,
    number: int,
    jobs: Sequence[JobRecord],
    wanted: JobFilter,
    operator: Operator,
    pace: Pace,
    report: Report,
    on_look: Callable[[Look], None],
) -> Stage:
    note = operator.note("replay", TARGET, filter=filter_document(wanted), stage=number)
    outcome = await revive_all(store, jobs, note)
    report.refused |= outcome.refused
    await _ended(store, outcome.done, pace, lambda live: on_look(Look(number, len(outcome.done), live)))
    before = {job.id: job.error.fingerprint if job.error else None for job in jobs}
    stage = judge(number, len(outcome.refused), await store.reader.read_many(outcome.done), before)
    report.stages.append(stage)
    return stage


async def _ended(store: Store, ids: Sequence[str], pace: Pace, on_live: Callable[[int], None]) -> None:
    """Wait until none of the jobs is live, or patience is over."""
    deadline, pause = pace.clock() + pace.patience, FIRST_LOOK
    while ids and (live := await store.reader.held(ids)) and pace.clock() < deadline:
        on_live(len(live))
        await pace.wait(pause)
        pause = min(pause * 2, LOOK_EVERY)


def judge(number: int, refused: int, jobs: Sequence[JobRecord], before: dict[str, str | None]) -> Stage:
    """What became of a stage; a job that still waits for its next attempt has failed again too."""
    dead = [job for job in jobs if job.state is State.DEAD]
    again = [job for job in dead if (job.error.fingerprint if job.error else None) == before[job.id]]
    retrying = sum(job.state is State.RETRYING for job in jobs)
    finished = sum(job.finished_at is not None for job in jobs)
    return Stage(
        number=number,
        revived=len(jobs),
        refused=refused,
        succeeded=sum(job.state is State.SUCCEEDED for job in jobs),
        failed_again=len(again) + retrying,
        failed_otherwise=len(dead) - len(again),
        unfinished=len(jobs) - finished - retrying,
    )
