"""The floor of a store as a report."""

from benchmarks.floor.measure import BATCHES, FILL_BATCH, PAYLOAD, PROCESSES, floor_helpers, measure_with
from benchmarks.floor.phases import Part
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch

NAMES = {"insert": "insert", "drain": "claim + settle", "flow": "insert + claim + settle"}

NOTES = [
    "Bare tables, ids made by the client, claims that name an owner, settlements guarded by it, no model. One blocking "
    "connection for each process, prepared statements, each batch its own durable commit.",
    "Every batch size is tried with a tenth of the jobs; the best runs over all of them in 1 and 2 processes.",
]


async def floor(scratch: Scratch, jobs: int) -> Report:
    """Measure the three phases."""
    url = await scratch.fresh()
    setup = await describe(url, jobs=jobs, processes=list(PROCESSES), batches=list(BATCHES), payload=len(PAYLOAD))
    report = Report("floor", setup, notes=list(NOTES))
    async with floor_helpers() as helpers:
        for phase, name in NAMES.items():
            found = await measure_with(helpers, Part(url, phase, jobs, FILL_BATCH, PAYLOAD))
            best = {"jobs_per_s": found.jobs_per_s, "batch": found.batch, "processes": found.processes}
            report.figures[f"{phase}_per_s"] = found.jobs_per_s
            for tried in found.tried:
                report.rows.append({**tried, "phase": name, "best": "*" if best.items() <= tried.items() else ""})
    return report
