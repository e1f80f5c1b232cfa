"""Whether a job costs more with a large backlog, many tenants, a long history or an idle transaction."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median
from typing import Any, NamedTuple

import psycopg

from benchmarks.app import StudyApp
from benchmarks.study import OPERATOR, Cost, timed_drain
from fairlead.bench.app import calls
from fairlead.bench.drain import BATCH
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch
from fairlead.operate.settings import set_setting

CLOSED = "closed"
PAYLOAD = 64

NOTES = [
    "Workers drain so many jobs in each case, through the public client; a case adds what its name says.",
    "cost_ratio and processor_ratio compare a case with `plain`; processor time is that of the workers and of "
    "PostgreSQL's processes on this machine.",
    "backlog: more jobs wait behind the measured ones. tenants: the jobs are spread over so many tenants. history: so "
    "many jobs have finished before. closed: so many jobs of another tenant wait behind a full limit. "
    "idle_transaction: another session of PostgreSQL keeps a transaction with a snapshot open.",
]


class Case(NamedTuple):
    """What there is beside the measured jobs."""

    name: str
    backlog: int = 0
    tenants: int = 1
    history: int = 0
    closed: int = 0
    idle_transaction: bool = False


def cases(large: int, tenants: int, postgres: bool) -> list[Case]:
    """One case for each thing that grows."""
    found = [
        Case("plain"),
        Case("backlog", backlog=large),
        Case("tenants", tenants=tenants),
        Case("history", history=large),
        Case("closed", closed=large),
    ]
    return [*found, Case("idle_transaction", idle_transaction=True)] if postgres else found


async def growth(scratch: Scratch, jobs: int, large: int, tenants: int, rounds: int) -> Report:
    """Measure all cases by turns; the median of the rounds counts."""
    url = await scratch.fresh()
    setup = await describe(url, jobs=jobs, large=large, rounds=rounds, processes=1, concurrency=50)
    wanted = cases(large, tenants, url.startswith("postgres"))
    passes = [[await _measure(await scratch.fresh(), case, jobs) for case in wanted] for _ in range(rounds)]
    rows = [_row(case, jobs, found) for case, found in zip(wanted, zip(*passes, strict=True), strict=True)]
    for row in rows:
        row["cost_ratio"] = round(row["us_per_job"] / rows[0]["us_per_job"], 2)
        row["processor_ratio"] = round(row["processor_us_per_job"] / rows[0]["processor_us_per_job"], 2)
    figures = {f"{row['case']}_cost_ratio": row["cost_ratio"] for row in rows[1:]}
    return Report("growth", setup, figures, rows, list(NOTES))


def _row(case: Case, jobs: int, found: Sequence[Cost]) -> dict[str, Any]:
    return {
        "case": case.name,
        "us_per_job": round(median(cost.seconds for cost in found) / jobs * 1e6, 1),
        "processor_us_per_job": round(median(cost.processor for cost in found) / jobs * 1e6, 1),
    }


async def _measure(url: str, case: Case, jobs: int) -> Cost:
    async with StudyApp(url) as app:
        await set_setting(await app.store(), "depth", "tenant:*", {"waiting": 10**9}, OPERATOR)
        if case.history:
            await _submit(app, case.history)
            await timed_drain(app, case.history, 1, 500)
        if case.closed:
            await _submit(app, case.closed, CLOSED)
            await set_setting(await app.store(), "limit", f"tenant:{CLOSED}", {"concurrent": 0}, OPERATOR)
        async with _idle_transaction(url if case.idle_transaction else None):
            for number in range(case.tenants):
                await _submit(app, max(1, jobs // case.tenants), f"tenant-{number}")
            await _submit(app, case.backlog)
            return await timed_drain(app, jobs // case.tenants * case.tenants, 1, 50)


async def _submit(app: StudyApp, jobs: int, tenant: str = "tenant-0") -> None:
    handler = app.kinds["none"].options(tenant=tenant)
    for start in range(0, jobs, 10 * BATCH):
        await handler.enqueue_many(calls(min(10 * BATCH, jobs - start), PAYLOAD))


@asynccontextmanager
async def _idle_transaction(url: str | None) -> AsyncIterator[None]:
    """A transaction with a snapshot and a number: nothing that dies after it can be vacuumed before it ends."""
    if url is None:
        yield
        return
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await connection.execute("select txid_current()")
        yield
        await connection.rollback()
