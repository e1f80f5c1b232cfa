"""Operating: `fairlead migrate`, `fairlead workers`, `fairlead drain-worker` and `fairlead doctor`."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import cell, json_moment, plain, show, show_json, table
from fairlead.config import Settings
from fairlead.core.durations import humanize
from fairlead.core.jobs.workers import WorkerRecord, reserved
from fairlead.errors import ConfigError
from fairlead.operate.audit import Operator
from fairlead.operate.doctor import Finding, Level, examine
from fairlead.operate.workers import Direction, direct
from fairlead.wiring import is_in_memory, make_store, shown
from fairlead.wiring import migrate as migrate_database

COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


def migrate(database: Database = None, as_json: Json = False) -> None:
    """Create Fairlead's tables, or bring them up to date."""
    url = settings_for(database).database_url
    if is_in_memory(url):
        raise ConfigError("a database in memory makes its own tables; there is nothing to migrate")
    applied = asyncio.run(migrate_database(url))
    if as_json:
        show_json({"database": shown(url), "applied": applied, "up_to_date": not applied})
        return
    for name in applied:
        show(f"applied {name}")
    show(f"{plain(shown(url))} is {'now' if applied else 'already'} up to date", wrap=False)


def workers(database: Database = None, as_json: Json = False) -> None:
    """List the workers."""
    records = asyncio.run(_workers(settings_for(database)))
    if as_json:
        show_json({"workers": [worker_document(record) for record in records]})
    elif records:
        _print_workers(records)
    else:
        show("no workers")


def direct_worker(
    worker_id: Annotated[str, typer.Argument(metavar="ID", help="The whole id of the worker.")],
    now: Annotated[bool, typer.Option("--now", help="Give back what runs, instead of finishing it.")] = False,
    actor: Actor = None,
    reason: Reason = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Let a worker claim nothing more, finish what it runs, and end; it hears of it within seconds."""
    direction = Direction.STOP if now else Direction.DRAIN
    asyncio.run(_direct(settings_for(database), worker_id, direction, operator(actor, reason)))
    if as_json:
        show_json({"id": worker_id, "state": direction.value})
    else:
        show(f"worker {plain(worker_id)} is told; it is {direction.value}", wrap=False)


def doctor(database: Database = None, as_json: Json = False) -> None:
    """Check the database and its workers, and say what to do."""
    settings = settings_for(database)
    url, listen_url = settings.database_url, settings.listen_url
    findings = asyncio.run(examine(lambda: make_store(url, listen_url=listen_url), _where(url)))
    healthy = all(finding.level is not Level.PROBLEM for finding in findings)
    if as_json:
        show_json({"healthy": healthy, "findings": [_finding_document(finding) for finding in findings]})
    else:
        _print_findings(findings)
    if not healthy:
        raise typer.Exit(1)


def worker_document(record: WorkerRecord) -> dict[str, Any]:
    """A worker in JSON."""
    return {
        "id": record.info.id,
        "host": record.info.host,
        "pid": record.info.pid,
        "pools": list(record.info.pools),
        "types": list(record.info.types),
        "slots": record.info.slots,
        "version": record.info.version,
        "started_at": json_moment(record.started_at),
        "state": _state(record),
        "lease_left": round(max(0.0, record.lease_left), 3),
        "reserve": list(reserved(record)),
        **_figures(record),
    }


async def _workers(settings: Settings) -> list[WorkerRecord]:
    async with opened(settings) as client:
        return await client.store.workers.all()


async def _direct(settings: Settings, worker_id: str, direction: Direction, who: Operator) -> None:
    async with opened(settings) as client:
        await direct(client.store, worker_id, direction, who)


def _state(record: WorkerRecord) -> str:
    if not record.live:
        return "lost"
    return "live" if record.state == "active" else record.state


def _pools(record: WorkerRecord) -> str:
    """What it serves; a worker with reserved slots serves certain tenants only."""
    tenants = reserved(record)
    return ", ".join(record.info.pools) + (f" for {', '.join(tenants)}" if tenants else "")


def _figures(record: WorkerRecord) -> dict[str, int]:
    """What a worker last reported: runs that ended well, that failed, writes refused since others had the job, and
    handlers that take up a slot after their end."""
    report = record.report
    return {
        "running": report.get("running", 0),
        "done": report.get("succeeded", 0),
        "failed": report.get("retrying", 0) + report.get("dead", 0),
        "refused": report.get("refused", 0),
        "lost_threads": report.get("lost_threads", 0),
    }


def _print_workers(records: Sequence[WorkerRecord]) -> None:
    listing = table(
        id=True, host=False, pid=True, pools=False, slots=True, running=True, done=True, failed=True, refused=True,
        lost_threads=True, lease=True, state=True, version=True,
    )  # fmt: skip
    for record in records:
        info = record.info
        listing.add_row(
            cell(info.id[:8]), cell(info.host), cell(info.pid), cell(_pools(record)), cell(info.slots),
            *map(cell, _figures(record).values()), cell(humanize(record.lease_left) if record.live else None),
            cell(_state(record), "green" if record.live else "bold red"), cell(info.version),
        )  # fmt: skip
    show(listing)


def _where(url: str) -> str:
    """The address as it may be shown; of one that is no address, only how it begins."""
    try:
        return shown(url)
    except ConfigError:
        return url.partition(":")[0]


def _finding_document(finding: Finding) -> dict[str, Any]:
    return {
        "level": finding.level.value,
        "topic": finding.topic,
        "message": finding.message,
        "advice": finding.advice,
        **finding.figures,
    }


def _print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        label = Text(f"{finding.level.value:<8}", COLOURS[finding.level])
        show(label, f"{finding.topic:<11}", plain(finding.message), wrap=False)
        if finding.advice:
            show(f"{'':<20} to do: {plain(finding.advice)}", wrap=False)
