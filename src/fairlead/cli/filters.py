"""The options by which commands choose dead letters, and who acts."""

import time
from typing import Annotated, Any

import typer

from fairlead.cli.enqueue import parse_duration, parse_instant
from fairlead.core.durations import seconds
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import ConfigError
from fairlead.operate.audit import Operator, whoami


def parse_moment(text: str) -> float:
    """Seconds since 1970 from a duration that has passed since, or from ISO 8601."""
    try:
        return time.time() - seconds(text)
    except ConfigError:
        return parse_instant(text).timestamp()


def _moment(help_text: str) -> Any:
    return typer.Option(parser=parse_moment, metavar="AGO|ISO-TIME", help=help_text)


Type = Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")]
Tenant = Annotated[str | None, typer.Option(help="Only jobs of this tenant.")]
Pool = Annotated[str | None, typer.Option(help="Only jobs of this pool.")]
Fingerprint = Annotated[str | None, typer.Option(help="Only jobs that died of this; `dlq groups` has fingerprints.")]
Error = Annotated[str | None, typer.Option("--error", help="Only jobs that died of an error of exactly this type.")]
Since = Annotated[float | None, _moment("Only jobs that died since then: 2h ago, or an instant.")]
Until = Annotated[float | None, _moment("Only jobs that died before then.")]
Most = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many jobs, the newest first.")]
Everything = Annotated[bool, typer.Option("--all", help="All dead jobs that fit the filter, or all there are.")]
Actor = Annotated[str | None, typer.Option("--as", metavar="WHO", help="Who does it, for the audit; else USER@HOST.")]
Reason = Annotated[str | None, typer.Option(metavar="WHY", help="Why, for the audit; needed for more than one job.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Age = Annotated[
    float | None,
    typer.Option(parser=parse_duration, metavar="DURATION", help="Only jobs that died longer ago than this."),
]


def dead_filter(
    type_name: str | None,
    tenant: str | None,
    pool: str | None,
    fingerprint: str | None,
    error: str | None,
    since: float | None,
    until: float | None,
) -> JobFilter:
    """The filter that the options ask for."""
    return JobFilter(
        type=type_name, tenant=tenant, pool=pool, fingerprint=fingerprint, error_type=error, finished_after=since,
        finished_before=until,
    )  # fmt: skip


def operator(actor: str | None, reason: str | None) -> Operator:
    """Who acts, and why."""
    return Operator(actor or whoami(), reason)


def require_choice(job_ids: list[str], wanted: JobFilter, everything: bool) -> None:
    """A usage error unless either jobs are named, or a filter, or all of them."""
    if job_ids and (everything or wanted != JobFilter()):
        raise typer.BadParameter("name jobs or give a filter, not both")
    if not job_ids and not everything and wanted == JobFilter():
        raise typer.BadParameter("name jobs, give a filter, or say --all")


def require_reason(reason: str | None) -> None:
    """A usage error where many jobs are changed and nobody says why."""
    if not reason or not reason.strip():
        raise typer.BadParameter("--reason is needed for more than one job; it goes into the audit")


def require_yes(question: str, yes: bool, as_json: bool) -> None:
    """Ask a person, unless the answer was given; a program has to give it."""
    if yes:
        return
    if as_json:
        raise typer.BadParameter(f"{question} With --json nobody is asked: add --yes")
    typer.confirm(question, abort=True, err=True)
