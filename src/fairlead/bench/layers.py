"""`fairlead bench layers`: what each step of a job costs on our side of the database, in microseconds."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import uvloop
from pydantic_core import to_json

from fairlead.bench.app import BenchApp
from fairlead.bench.report import Report, machine
from fairlead.bench.supply import Mix
from fairlead.client.client import template_of
from fairlead.core.ids import make_ids
from fairlead.core.model import Claim, Lease, NewJob, Settlement
from fairlead.core.settle import succeed
from fairlead.handlers.options import Options, new_jobs
from fairlead.handlers.spec import HandlerSpec
from fairlead.stores import rows
from fairlead.stores.enqueue import job_row
from fairlead.stores.settling import settlement_row, split_succeeded
from fairlead.worker.runner import Runner

BATCH = 1000
ROUNDS = 7
OWNER = "00000000-0000-7000-8000-000000000003"

NOTES = [
    f"Each step over {BATCH:,} jobs, the best of {ROUNDS} rounds, divided by the jobs: pure client-side work of one "
    "thread, without the driver, the network and the database.",
    "build jobs contains dump arguments and make ids. A run that never waits takes a turn in a task with others; one "
    "that waits has a task of its own. Both contain load arguments and the handler.",
    "Successes are stored by their ids or places alone; failures need a row each.",
]

Step = tuple[str, str, Callable[[], object]]


def layers(mix: Mix = Mix(), rounds: int = ROUNDS) -> Report:  # noqa: B008
    """Time every step alone."""
    steps = [*_enqueue_steps(mix), *_claim_steps(mix), *_settle_steps(mix)]
    table = [{"verb": verb, "step": step, "us_per_job": _best(run, rounds)} for verb, step, run in steps]
    figures = {f"{row['verb']}: {row['step']}": row["us_per_job"] for row in table}
    return Report("layers", {**machine(), "batch": BATCH, **mix.facts()}, {"us_per_job": figures}, table, list(NOTES))


def _enqueue_steps(mix: Mix) -> list[Step]:
    app = _app()
    spec, settings, call = app.noops[0].spec, app.settings, {"text": mix.text()}
    dump, limit = spec.arguments.dump, settings.payload_limit
    payloads, shared = [mix.stored()] * BATCH, template_of(spec, Options(), settings)
    jobs = _jobs(app, mix)
    job_rows = [job_row(job) for job in jobs]
    return [
        ("enqueue", "dump arguments", lambda: [dump(call, limit) for _ in range(BATCH)]),
        ("enqueue", "make ids", lambda: make_ids(BATCH, time.time())),
        (
            "enqueue",
            "ids to jobs",
            lambda: new_jobs(shared, payloads, time.time()),
        ),
        ("enqueue", "build jobs", lambda: app.noop_jobs([call] * BATCH)),
        ("enqueue", "job to row", lambda: [job_row(job) for job in jobs]),
        ("enqueue", "rows to JSON", lambda: to_json(job_rows)),
    ]


def _claim_steps(mix: Mix) -> list[Step]:
    app = _app()
    spec, job = app.noops[0].spec, _jobs(app, mix)[0]
    claims, found, lease = _claims(app, mix), _claimed_rows(app, mix), Lease(OWNER, OWNER)
    return [
        ("claim", "row to claim", lambda: rows.claims_of(found, lambda lane: job.lane, lease)),
        ("run", "load arguments", lambda: [spec.load(claim.payload, 1) for claim in claims]),
        ("run", "take a turn", lambda: _on_loop(_take_turns(app, claims))),
        ("run", "start a task", lambda: _on_loop(_start_tasks())),
        ("run", "run in a task", lambda: _on_loop(_run_all(app, claims))),
    ]


def _settle_steps(mix: Mix) -> list[Step]:
    claims = _claims(_app(), mix)
    settlements = succeed(claims, repeat(None))
    settlement_rows = [settlement_row(settlement) for settlement in settlements]
    return [
        ("settle", "decide", lambda: succeed(claims, repeat(None))),
        ("settle", "sort out successes", lambda: _sort_out(settlements)),
        ("settle", "failure to row", lambda: [settlement_row(settlement) for settlement in settlements]),
        ("settle", "rows to JSON", lambda: to_json(settlement_rows)),
    ]


def _sort_out(settlements: list[Settlement]) -> None:
    assert not split_succeeded(settlements)[1]


def _app() -> BenchApp:
    return BenchApp("sqlite:///:memory:")


def _jobs(app: BenchApp, mix: Mix) -> list[NewJob]:
    return app.noop_jobs([{"text": mix.text()}] * BATCH)


def _claimed_rows(app: BenchApp, mix: Mix) -> list[tuple[Any, ...]]:
    jobs, now = _jobs(app, mix), time.time()
    return [(job.id, job.lane.id, job.payload, 1, 0, 1, now, 0.1, None, None, None) for job in jobs]


def _claims(app: BenchApp, mix: Mix) -> list[Claim]:
    lane, lease = _jobs(app, mix)[0].lane, Lease(OWNER, OWNER)
    return rows.claims_of(_claimed_rows(app, mix), lambda _: lane, lease)


def _on_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run on the kind of event loop that workers have."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


async def _start_tasks() -> None:
    async def nothing() -> None:
        pass

    await asyncio.gather(*(asyncio.create_task(nothing()) for _ in range(BATCH)))


async def _take_turns(app: BenchApp, claims: list[Claim]) -> None:
    spec = app.noops[0].spec
    with ThreadPoolExecutor(1) as threads:
        runner = Runner(threads, app.settings.result_limit)
        for claim in claims:
            runner.begin(claim, spec)


async def _run_all(app: BenchApp, claims: list[Claim]) -> None:
    spec = app.noops[0].spec
    with ThreadPoolExecutor(1) as threads:
        runner = Runner(threads, app.settings.result_limit)
        await asyncio.gather(*(asyncio.create_task(_run(runner, claim, spec)) for claim in claims))


async def _run(runner: Runner, claim: Claim, spec: HandlerSpec) -> None:
    runner.begin(claim, spec)


def _best(run: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return round(min(taken) / BATCH * 1e6, 2)
