"""`fairlead bench growth`: what a job costs when there is much of everything."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import repeat
from statistics import fmean, median
from typing import Any, NamedTuple

from fairlead.bench.app import BenchApp
from fairlead.bench.cpu import Meter, collecting_rarely
from fairlead.bench.database import Database, PostgresDatabase, open_database
from fairlead.bench.hold import measure_hold
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe
from fairlead.bench.supply import BATCH as SUBMITTED
from fairlead.bench.supply import Mix
from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.settle import succeed
from fairlead.handlers.options import Options
from fairlead.operate.audit import Operator, whoami
from fairlead.operate.limits import set_limit
from fairlead.ports.store import Store
from fairlead.worker.accounts import Accounts
from fairlead.worker.claimer import Claimer

BATCH = 200
PASSES = 3
WARM_UP = 10
JOB_SECONDS = 0.001
SERIES = ("backlog", "lanes", "history", "closed")
CLOSED = "closed"
MEASURED = ("us_per_job", "mean_us_per_job", "claim_us_per_job", "jobs_per_s", "cpu_us_per_job", "claim_cpu_us_per_job")
OWNER = "00000000-0000-7000-8000-000000000001"

NOTES = [
    f"The store's claim and settle through the worker's Claimer and core.settle, in this process, {BATCH} jobs at a "
    "time; after each round as many jobs are added by SQL, untimed, so that the backlog keeps its size.",
    f"All sizes are measured {PASSES} times by turns, each with its part of the jobs; a figure is the median of "
    "these, so that a disturbance of one size counts less.",
    "Every lane has a tenant of its own. Charges are settled and exchanged with the store meanwhile, as workers do.",
    "us_per_job is the median round divided by its jobs; mean_us_per_job includes checkpoints and other disturbances.",
    "cpu_us_per_job is the processor time of this process and, on a PostgreSQL server on this machine, of its "
    "sessions; claim_us_per_job and claim_cpu_us_per_job are those of the claim alone, with the views read for it.",
    "cost_ratio: the largest size of a series against its smallest by us_per_job, cpu_ratio by cpu_us_per_job, "
    "claim_cpu_ratio by claim_cpu_us_per_job. On PostgreSQL the tables are vacuumed and analysed after they were "
    "filled, as autovacuum would leave them.",
    "closed: so many jobs wait in a lane whose limit is full; the others are the jobs that are measured.",
    "hold: jobs are enqueued, claimed and settled all the time, before and while another session keeps a transaction "
    "with a snapshot and a number open.",
]


class Case(NamedTuple):
    """One size of one series."""

    series: str
    backlog: int
    lanes: int
    history: int
    closed: int = 0


def cases(scale: int) -> list[Case]:
    """The series, each size divided by `scale`."""
    sizes = [Case("backlog", size // scale, 1, 0) for size in (1_000, 100_000, 1_000_000)]
    sizes += [Case("lanes", 100_000 // scale, max(1, lanes // scale), 0) for lanes in (1, 100, 10_000)]
    sizes += [Case("history", 1_000 // scale, 1, size // scale) for size in (0, 1_000_000)]
    return sizes + [Case("closed", 1_000 // scale, 1, 0, size // scale) for size in (0, 1_000_000)]


class Round(NamedTuple):
    """What a round took: seconds and processor seconds a job, of all of it and of the claim."""

    wall: float
    cpu: float
    claim: float
    claim_cpu: float


async def growth(
    place: Place, scale: int = 1, jobs: int = 10_000, hold: float = 60.0, series: Sequence[str] = SERIES
) -> Report:
    """Measure every case, then the rate while a transaction is held open."""
    url = await fresh(place)
    setup = await describe(url, jobs=jobs, batch=BATCH, scale=f"1/{scale}", hold_seconds=hold, processes=1)
    wanted = [case for case in cases(scale) if case.series in series]
    passes = [[await _measure(await fresh(place), case, -(-jobs // PASSES)) for case in wanted] for _ in range(PASSES)]
    rows = [_middle(found) for found in zip(*passes, strict=True)]
    figures: dict[str, Any] = {}
    for name in series:
        figures |= _ratios([row for row in rows if row["series"] == name], name)
    figures["jobs_per_s"] = rows[0]["jobs_per_s"]
    if url.startswith("postgres") and hold > 0:
        held = await measure_hold(await fresh(place), hold, BATCH)
        figures |= held
        rows.append({"series": "hold", **{name.removeprefix("hold_"): value for name, value in held.items()}})
    return Report("growth", setup, figures, rows, list(NOTES))


async def _measure(url: str, case: Case, jobs: int) -> dict[str, Any]:
    database = open_database(url)
    try:
        async with BenchApp(url) as app:
            store = await app.store()
            field = Field(database, await _enter_lanes(app, case.lanes))
            if case.series == "closed":
                await _close(app, case.closed)
            field.fill(case)
            with closing(Meter(database)) as meter, collecting_rarely():
                rounds = await _rounds(store, app, field, jobs, meter)
    finally:
        database.close()
    return {**case._asdict(), **_figures(rounds, meter.sees_server)}


def _middle(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure over the passes."""
    return {
        name: median(each[name] for each in found) if name in MEASURED else value for name, value in found[0].items()
    }


def _figures(rounds: list[Round], sees_server: bool) -> dict[str, Any]:
    """Microseconds a job; processor time is that of all rounds, since a view is read for many."""
    mean = fmean(each.wall for each in rounds)
    measured = {
        "us_per_job": _micros(median(each.wall for each in rounds)),
        "mean_us_per_job": _micros(mean),
        "claim_us_per_job": _micros(fmean(each.claim for each in rounds)),
        "jobs_per_s": round(1 / mean),
    }
    if sees_server:
        measured["cpu_us_per_job"] = _micros(fmean(each.cpu for each in rounds))
        measured["claim_cpu_us_per_job"] = _micros(fmean(each.claim_cpu for each in rounds))
    return measured


def _micros(seconds: float) -> float:
    return round(seconds * 1e6, 1)


async def _enter_lanes(app: BenchApp, lanes: int) -> list[Lane]:
    """One job in each lane, submitted by the client, so that the store knows the lane."""
    call = {"text": Mix().text()}
    tenants = [Options(tenant=f"tenant-{number}") for number in range(lanes)]
    jobs = [job for options in tenants for job in app.noop_jobs([call], options)]
    await (await app.client()).submit(jobs)
    return [job.lane for job in jobs]


async def _close(app: BenchApp, jobs: int) -> None:
    """Let so many jobs wait in a lane from which nothing may start."""
    closed = app.noops[0].options(tenant=CLOSED)
    for start in range(0, jobs, SUBMITTED):
        await closed.enqueue_many([{"text": Mix().text()}] * min(SUBMITTED, jobs - start))
    await set_limit(await app.store(), "tenant", CLOSED, Operator(whoami(), "bench"), concurrent=0)


class Field:
    """The rows that a case needs, made inside the database."""

    def __init__(self, database: Database, lanes: list[Lane]) -> None:
        self._database = database
        self._lanes = len(lanes)
        self._some_lane = lanes[0].id
        self._made = 0
        self._values = {"millis": int(time.time() * 1000), "payload": Mix().stored()}
        if isinstance(database, PostgresDatabase):
            self._clock: dict[str, float] = {}
        else:
            self._clock = {"now": 0.0}
        database.rows("create_lane_list")
        database.rows("list_lanes", ids=f"[{','.join(str(lane.id) for lane in lanes)}]")

    def fill(self, case: Case) -> None:
        """Make backlog and history, and let the planner know."""
        if case.history:
            values = {**self._values, **self._now(), "lane": self._some_lane, "first": 1, "last": case.history}
            self._database.rows("make_history", **values)
        self.add(max(BATCH, case.backlog - self._lanes))
        if isinstance(self._database, PostgresDatabase):
            for table in ("job", "job_history"):
                self._database.connection.execute(f"VACUUM (ANALYZE) {table}")

    def add(self, count: int) -> None:
        """Make ready jobs, each in the next lane."""
        first, self._made = self._made + 1, self._made + count
        bounds = {"first": first, "last": self._made, "lanes": self._lanes}
        self._database.rows("make_jobs", **self._values, **self._now(), **bounds)

    def _now(self) -> dict[str, float]:
        """SQLite's clock is ours."""
        return dict.fromkeys(self._clock, time.time())


async def _rounds(store: Store, app: BenchApp, field: Field, jobs: int, meter: Meter) -> list[Round]:
    """What each round took, after a warm-up."""
    pools = frozenset({"short"})
    claimer = Claimer(store, OWNER, pools, app.registry)
    accounts = Accounts(store, claimer.queue, claimer.tally, pools, list)
    await _work(store, claimer, field, WARM_UP, meter)
    await accounts.flush()
    keeping = asyncio.create_task(accounts.run())
    try:
        return await _work(store, claimer, field, -(-jobs // BATCH), meter)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _work(store: Store, claimer: Claimer, field: Field, rounds: int, meter: Meter) -> list[Round]:
    """Claim and settle, round after round; jobs take no time, and are accounted for as if they had taken a little."""
    found = []
    for _ in range(rounds):
        meter.look()
        began = _instant(meter)
        claims = await claimer.take(BATCH)
        claimed = _instant(meter)
        settled = await store.settle(succeed(claims, repeat(None)))
        claimer.tally.ended([(claim.lane, JOB_SECONDS) for claim in claims])
        ended = _instant(meter)
        found.append(
            Round(*(seconds / max(1, len(settled)) for seconds in (*_less(ended, began), *_less(claimed, began))))
        )
        field.add(BATCH)
    return found


def _instant(meter: Meter) -> tuple[float, float]:
    return time.perf_counter(), meter.read()


def _less(later: tuple[float, float], earlier: tuple[float, float]) -> tuple[float, float]:
    return later[0] - earlier[0], later[1] - earlier[1]


def _ratios(rows: list[dict[str, Any]], series: str) -> dict[str, float]:
    """The largest size against the smallest."""
    names = {"cost_ratio": "us_per_job", "cpu_ratio": "cpu_us_per_job", "claim_cpu_ratio": "claim_cpu_us_per_job"}
    return {
        f"{series}_{ratio}": round(float(rows[-1][figure] / rows[0][figure]), 2)
        for ratio, figure in names.items()
        if figure in rows[0] and figure in rows[-1]
    }
