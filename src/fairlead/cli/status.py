"""`fairlead status`: whether all is well, what to do where it is not, the backlog and the waits of each pool."""

import asyncio
from collections.abc import Sequence
from typing import Any

import typer
from rich.text import Text

from fairlead.cli.loading import on_store, settings_for
from fairlead.cli.options import Database, Json
from fairlead.cli.output import cell, listing, plain, show, show_document
from fairlead.core.durations import humanize
from fairlead.core.insight.diagnosis import Alert
from fairlead.core.insight.diagnosis import Level as AlertLevel
from fairlead.core.insight.wait_times import Spread
from fairlead.errors import ConfigError
from fairlead.insight.doctor import Finding, Level, examine
from fairlead.insight.system_status import SystemStatus, system_status
from fairlead.wiring import make_store, shown

COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}
ALERT_COLOURS = {AlertLevel.PROBLEM: "bold red", AlertLevel.WARNING: "yellow"}

app = typer.Typer()


@app.command()
def status(database: Database = None, as_json: Json = False) -> None:
    """Check the database, its services and workers; list alerts with what to do, and each pool's backlog and waits."""
    settings = settings_for(database)
    url, listen_url = settings.database_url, settings.listen_url
    findings = asyncio.run(examine(lambda: make_store(url, listen_url=listen_url), _where(url)))
    is_usable = not any(item.topic in ("store", "schema") and item.level is Level.PROBLEM for item in findings)
    found = on_store(database, system_status) if is_usable else None
    healthy = all(item.level is not Level.PROBLEM for item in findings)
    if as_json:
        show_document(_document(findings, found, healthy))
    else:
        _print(findings, found)
    if not healthy:
        raise typer.Exit(1)


def _print(findings: Sequence[Finding], found: SystemStatus | None) -> None:
    if found is not None:
        show(plain(found.health.sentence))
    for finding in findings:
        label = Text(f"{finding.level.value:<8}", COLOURS[finding.level])
        show(label, f"{finding.topic:<11}", plain(finding.message), wrap=False)
        if finding.advice:
            show(f"{'':<20} to do: {plain(finding.advice)}", wrap=False)
    if found is not None:
        _print_alerts(found.health.alerts)
        _print_pools(found)


def _print_alerts(alerts: Sequence[Alert]) -> None:
    if alerts:
        show(Text("\nalerts", "bold"))
        listing(
            alerts,
            {
                "level": lambda item: cell(item.level.value, ALERT_COLOURS.get(item.level, "")),
                "code": lambda item: item.code,
                "what": lambda item: item.sentence,
                "do": lambda item: item.hint,
            },
            none="",
            cut=("what", "do"),
        )


def _print_pools(found: SystemStatus) -> None:
    if not found.pools:
        return
    waits: dict[str, Spread] = found.waits.pools

    def wait(name: str, pool: str) -> str | None:
        return humanize(getattr(waits[pool], name)) if pool in waits else None

    show(Text(f"\npools, and how long jobs waited in the last {humanize(found.waits.seconds)}", "bold"))
    listing(
        found.pools,
        {
            "pool": lambda item: item.pool,
            "workers": lambda item: item.workers,
            "slots": lambda item: f"{item.running} of {item.slots}",
            "ready": lambda item: item.jobs.get("ready", 0),
            "oldest": lambda item: None if item.oldest_ready is None else humanize(item.oldest_ready),
            "started": lambda item: waits[item.pool].total if item.pool in waits else 0,
            "p50": lambda item: wait("p50", item.pool),
            "p95": lambda item: wait("p95", item.pool),
            "p99": lambda item: wait("p99", item.pool),
        },
        none="",
    )


def _document(findings: Sequence[Finding], found: SystemStatus | None, healthy: bool) -> dict[str, Any]:
    from fairlead.documents.status import StatusDocument

    checks = [
        {"level": item.level.value, "topic": item.topic, "message": item.message, "advice": item.advice, **item.figures}
        for item in findings
    ]
    return {"healthy": healthy, "findings": checks, "status": found and StatusDocument.of(found).as_json()}


def _where(url: str) -> str:
    """The address as it may be shown; of one that is no address, only how it begins."""
    try:
        return shown(url)
    except ConfigError:
        return url.partition(":")[0]
