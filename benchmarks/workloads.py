"""The workloads that users see, with default settings: the table of benchmarks/README.md."""

from typing import Any

from benchmarks.footprint import footprint
from fairlead.bench.drain import Drain, drain
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch

WORKLOADS: dict[str, dict[str, Any]] = {
    "returns a result at once": {"handler": "result"},
    "the same, 500 slots": {"handler": "result", "concurrency": 500},
    "awaits once": {"handler": "await"},
    "awaits once, 500 slots": {"handler": "await", "concurrency": 500},
    "plain `def` handler": {"handler": "thread"},
    "5 % of runs fail once": {"handler": "flaky"},
    "100 tenants x 3 priorities": {"handler": "result", "tenants": 100, "priorities": 3},
}
IDLE_SECONDS = 10.0
THREAD_SHARE = 4  # plain handlers are slower: a fourth of the jobs will do

NOTES = [
    "jobs/s by 1 and by 2 worker processes, the median of the rounds; see `fairlead bench drain`.",
]


async def workloads(scratch: Scratch, jobs: int, rounds: int) -> Report:
    """Measure every workload with one and with two worker processes, then what an idle worker costs."""
    setup = await describe(await scratch.fresh(), jobs=jobs, rounds=rounds)
    rows = [await _row(scratch, name, options, jobs, rounds) for name, options in WORKLOADS.items()]
    cost = await footprint(scratch, rounds, IDLE_SECONDS)
    return Report("workloads", setup, cost.figures, rows, [*NOTES, *cost.notes])


async def _row(scratch: Scratch, name: str, options: dict[str, Any], jobs: int, rounds: int) -> dict[str, Any]:
    count = jobs // THREAD_SHARE if options["handler"] == "thread" else jobs
    rates = [
        (await drain(scratch, Drain(jobs=count, processes=processes, **options), rounds)).figures["jobs_per_s"]
        for processes in (1, 2)
    ]
    return {"workload": name, "one_process": rates[0], "two_processes": rates[1]}
