"""The commands of `fairlead jobs` for dead jobs: replay and purge."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from fairlead.cli.job_outcomes import agreed_dead, fail_for, print_done
from fairlead.cli.loading import on_store, settings_for
from fairlead.cli.options import (
    Actor,
    Database,
    Error,
    Everything,
    Fingerprint,
    JobIds,
    Json,
    Most,
    Pool,
    Reason,
    Since,
    Tenant,
    Type,
    Until,
    Yes,
    chosen_ids,
    duration,
    operator,
    read_payload,
    require_reason,
    require_yes,
)
from fairlead.cli.output import listing, progress, show, show_document
from fairlead.core.jobs.dead_letters import TOLERANCE, Stage
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import JobError, ReplayStopped
from fairlead.operate import dead_letters
from fairlead.operate.dead_letters import Outcome
from fairlead.operate.staged_replay import Pace, replay_in_stages
from fairlead.operate.staged_replay import Report as StagedReport
from fairlead.runtime.operator import Operator

Payload = Annotated[
    str | None, typer.Option(metavar="JSON", help="Its new arguments as a JSON object; - reads standard input.")
]
Staged = Annotated[bool, typer.Option("--staged", help="1, then 10, then the rest; stop if they fail.")]
Patience = Annotated[float, duration("How long a stage may take.")]
Tolerance = Annotated[float, typer.Option(min=0.0, max=1.0, help="Which share of a later stage may fail.")]
OlderThan = Annotated[float | None, duration("Only jobs that died longer ago than this; 0s means all that fit.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many would be removed.")]


def replay(
    job_ids: JobIds = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    fingerprint: Fingerprint = None, error: Error = None, since: Since = None, until: Until = None,
    everything: Everything = False, limit: Most = None, payload: Payload = None, in_stages: Staged = False,
    patience: Patience = 300.0, tolerance: Tolerance = TOLERANCE, reason: Reason = None, actor: Actor = None,
    yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Run dead jobs again, with fresh attempts and the same ids and idempotency keys."""
    wanted = _dead_filter(type_name, tenant, pool, fingerprint, error, since, until)
    chosen, who = chosen_ids(job_ids, wanted, everything, reason), operator(actor, reason)
    if chosen and in_stages:
        raise typer.BadParameter("--staged goes with a filter or --all")
    if payload is not None:
        if len(chosen) != 1:
            raise typer.BadParameter("--payload goes with one job")
        _replay_changed(database, chosen[0], who, read_payload(payload), as_json)
    elif chosen:
        print_done(on_store(database, lambda store: dead_letters.replay_ids(store, chosen, who)), "replayed", as_json)
    elif in_stages:
        total = agreed_dead(database, wanted, limit, "replay", yes, as_json)
        _replay_staged(database, wanted, who, Pace(patience, tolerance), limit, total, as_json)
    else:
        total = agreed_dead(database, wanted, limit, "replay", yes, as_json)
        with progress("replaying", total, as_json) as advance:
            done = on_store(database, lambda store: dead_letters.replay_many(store, wanted, who, limit, advance))
        print_done(done, "replayed", as_json)


def purge(
    job_ids: JobIds = None, older_than: OlderThan = None, type_name: Type = None, tenant: Tenant = None,
    pool: Pool = None, fingerprint: Fingerprint = None, error: Error = None, since: Since = None, until: Until = None,
    dry_run: DryRun = False, reason: Reason = None, actor: Actor = None, yes: Yes = False, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Remove dead jobs and their attempts for good: those that are named, or all that are old and fit."""
    wanted = _dead_filter(type_name, tenant, pool, fingerprint, error, since, until)
    if not job_ids and older_than is None:
        raise typer.BadParameter("name jobs, or say --older-than, with a filter or without one; 0s means all that fit")
    chosen = chosen_ids(job_ids, wanted, older_than is not None, reason or ("a dry run" if dry_run else None))
    if not dry_run:
        require_reason(reason)
    who = operator(actor, reason)
    if older_than is None:
        _purge_ids(database, chosen, who, dry_run, yes, as_json)
    else:
        _purge_old(database, wanted, older_than, who, dry_run, yes, as_json)


def _dead_filter(
    type_name: str | None, tenant: str | None, pool: str | None, fingerprint: str | None, error: str | None,
    since: float | None, until: float | None,
) -> JobFilter:  # fmt: skip
    return JobFilter(
        type=type_name, tenant=tenant, pool=pool, fingerprint=fingerprint, error_type=error, finished_after=since,
        finished_before=until,
    )  # fmt: skip


def _replay_changed(database: str | None, job_id: str, who: Operator, payload: dict[str, Any], as_json: bool) -> None:
    limit = settings_for(database).payload_limit
    on_store(database, lambda store: dead_letters.replay_one(store, job_id, who, payload, limit))
    print_done(Outcome((job_id,), {}), "replayed", as_json)


def _replay_staged(
    database: str | None, wanted: JobFilter, who: Operator, pace: Pace, limit: int | None, total: int, as_json: bool
) -> None:
    with progress("replaying in stages", total, as_json) as advance:

        def ended(stage: Stage) -> None:
            advance(stage.revived + stage.refused)

        report = on_store(database, lambda store: replay_in_stages(store, wanted, who, pace, limit, ended))
    _print_stages(report, as_json)
    if report.stopped:
        raise ReplayStopped(f"{report.stopped}; {report.revived} of {total} were replayed")
    fail_for(report.refused)


def _purge_ids(database: str | None, chosen: list[str], who: Operator, dry_run: bool, yes: bool, as_json: bool) -> None:
    found = on_store(database, lambda store: dead_letters.find_dead(store, chosen))
    if found.done and not dry_run:
        require_yes(f"purge {len(found.done)} dead jobs?", yes, as_json)
        found = on_store(database, lambda store: dead_letters.purge_ids(store, chosen, who))
    _print_purged(len(found.done), dry_run, found.refused, as_json)


def _purge_old(
    database: str | None, wanted: JobFilter, older_than: float, who: Operator, dry_run: bool, yes: bool, as_json: bool
) -> None:
    total = on_store(database, lambda store: dead_letters.count_old(store, wanted, older_than))
    if total and not dry_run:
        require_yes(f"purge {total} dead jobs?", yes, as_json)
        with progress("purging", total, as_json) as advance:
            total = on_store(database, lambda store: dead_letters.purge(store, wanted, older_than, who, advance))
    _print_purged(total, dry_run, {}, as_json)


def _print_purged(count: int, dry_run: bool, refused: Mapping[str, JobError], as_json: bool) -> None:
    if as_json:
        from fairlead.documents.dead_letters import Purged, RefusedDocument

        removed, would = (0, count) if dry_run else (count, None)
        show_document(Purged(removed=removed, would_remove=would, refused=RefusedDocument.all_of(refused)))
    else:
        show(f"{count} dead jobs {'would be ' if dry_run else ''}purged")
    fail_for(refused)


def _print_stages(report: StagedReport, as_json: bool) -> None:
    if as_json:
        from fairlead.documents.dead_letters import StagedReport as Document

        show_document(Document.of(report))
        return
    if report.stages:
        listing(
            report.stages,
            {
                "stage": lambda item: item.number,
                "replayed": lambda item: item.revived,
                "succeeded": lambda item: item.succeeded,
                "failed again": lambda item: item.failed_again,
                "failed otherwise": lambda item: item.failed_otherwise,
                "unfinished": lambda item: item.unfinished,
                "refused": lambda item: item.refused,
            },
            none="",
        )
    show(f"{report.revived} jobs replayed")
