"""`fairlead bench floor`: what the store can do without us."""

from fairlead.bench.floor.measure import BATCHES, FILL_BATCH, PROCESSES, Measured, floor_hands, measure_with
from fairlead.bench.floor.phases import Part
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe
from fairlead.bench.supply import Mix

NAMES = {"insert": "insert", "drain": "claim + settle", "flow": "insert + claim + settle"}

NOTES = [
    "Bare tables (id, lane, state, owner, fence, ready_at, payload; on PostgreSQL with a history): ids made by the "
    "client, claims that name an owner, settlements guarded by it, no model. One blocking connection a process, "
    "prepared statements, each batch its own durable commit.",
    "Every batch size is tried with a tenth of the jobs; the one that won runs over all of them in 1 and 2 processes. "
    "The best counts as the floor.",
]


async def floor(
    place: Place,
    jobs: int = 200_000,
    mix: Mix = Mix(),  # noqa: B008
) -> Report:
    """Measure the three phases."""
    url = await fresh(place)
    setup = await describe(url, jobs=jobs, processes=list(PROCESSES), batches=list(BATCHES), payload_bytes=mix.payload)
    report = Report("floor", setup, notes=list(NOTES))
    async with floor_hands() as hands:
        for phase in NAMES:
            _enter(report, await measure_with(hands, Part(url, phase, jobs, FILL_BATCH, mix.stored())))
    report.figures["jobs_per_s"] = report.figures["floor_jobs_per_s"] = report.figures["flow"]["jobs_per_s"]
    return report


def _enter(report: Report, found: Measured) -> None:
    best = {"jobs_per_s": found.jobs_per_s, "batch": found.batch, "processes": found.processes}
    report.figures[found.phase] = best
    for tried in found.tried:
        mark = "*" if best.items() <= tried.items() else ""
        report.rows.append({**tried, "phase": NAMES[found.phase], "best": mark})
