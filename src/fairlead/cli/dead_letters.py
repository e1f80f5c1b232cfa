"""`fairlead dlq`: list, group, show, edit, replay, cancel and purge dead letters."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from fairlead.cli import dead_letters_output as printing
from fairlead.cli.enqueue import parse_duration, read_payload
from fairlead.cli.filters import (
    Actor,
    Age,
    Error,
    Everything,
    Fingerprint,
    Most,
    Pool,
    Reason,
    Since,
    Tenant,
    Type,
    Until,
    Yes,
    dead_filter,
    operator,
    require_choice,
    require_reason,
    require_yes,
)
from fairlead.cli.jobs import JobId, parse_cursor, whole_id
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import progress
from fairlead.config import Settings
from fairlead.core.jobs.dead_letters import TOLERANCE, DeadGroup
from fairlead.core.jobs.job_records import JobFilter, Page
from fairlead.errors import ReplayStopped
from fairlead.operate import dead_letters, staged_replay
from fairlead.operate.audit import Operator

JobIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The whole ids of the jobs.")]
Patience = Annotated[
    float, typer.Option(parser=parse_duration, metavar="DURATION", help="How long a stage may take.")
]  # fmt: skip


def list_dead(
    type_name: Type = None, tenant: Tenant = None, pool: Pool = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many jobs a page has.")] = 20,
    cursor: Annotated[
        str | None, typer.Option(parser=parse_cursor, metavar="CURSOR", help="Go on where a page ended.")
    ] = None,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List dead letters, newest first."""
    wanted = dead_filter(type_name, tenant, pool, fingerprint, error, since, until)

    async def read() -> Page:
        async with opened(settings_for(database)) as client:
            return await dead_letters.list_dead(client.store, wanted, limit, cursor)

    printing.page(asyncio.run(read()), as_json)


def groups(
    type_name: Type = None, tenant: Tenant = None, pool: Pool = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many groups.")] = 20,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Group dead letters by what they died of, the largest group first."""
    wanted = dead_filter(type_name, tenant, pool, fingerprint, error, since, until)

    async def read() -> list[DeadGroup]:
        async with opened(settings_for(database)) as client:
            return await dead_letters.groups(client.store, wanted, limit)

    printing.groups(asyncio.run(read()), as_json)


def show(job_id: JobId, database: Database = None, as_json: Json = False) -> None:
    """Show a job with its runs and what operators did with it."""

    async def read() -> dead_letters.DeadLetter:
        async with opened(settings_for(database)) as client:
            return await dead_letters.show(client.store, whole_id(job_id))

    printing.letter(asyncio.run(read()), as_json)


def edit(
    job_id: JobId,
    payload: Annotated[str, typer.Argument(metavar="PAYLOAD", help="The new arguments as JSON; - reads them.")],
    replay: Annotated[bool, typer.Option("--replay", help="Replay the job with it at once.")] = False,
    reason: Reason = None, actor: Actor = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Replace the payload of a dead letter by one that fits its type."""
    settings, who, arguments = settings_for(database), operator(actor, reason), read_payload(payload)

    async def change() -> None:
        async with opened(settings) as client:
            store, limit = client.store, settings.payload_limit
            if replay:
                await dead_letters.replay_one(store, whole_id(job_id), who, arguments, limit)
            else:
                await dead_letters.edit(store, whole_id(job_id), arguments, limit, who)

    asyncio.run(change())
    printing.edited(job_id, replay, as_json)


def replay(
    job_ids: JobIds = None,
    type_name: Type = None, tenant: Tenant = None, pool: Pool = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None, limit: Most = None, everything: Everything = False,
    in_stages: Annotated[bool, typer.Option("--staged", help="1, then 10, then the rest; stop if they fail.")] = False,
    patience: Patience = "5m",  # type: ignore[assignment]
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Which share of a later stage may fail.")
    ] = TOLERANCE,
    reason: Reason = None, actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Run dead letters again, with fresh attempts and the same ids and idempotency keys."""
    wanted = dead_filter(type_name, tenant, pool, fingerprint, error, since, until)
    chosen = _choose(job_ids, wanted, everything, reason)
    settings, who = settings_for(database), operator(actor, reason)
    if chosen:
        if in_stages:
            raise typer.BadParameter("--staged goes with a filter or --all")
        printing.outcome("replayed", asyncio.run(_replay_ids(settings, chosen, who)), as_json)
        return
    total = _ask(settings, wanted, limit, "Replay", yes, as_json)
    if in_stages:
        pace = staged_replay.Pace(patience, tolerance)
        report = asyncio.run(_replay_staged(settings, wanted, who, pace, limit, total, as_json))
        printing.report(report, as_json)
        if report.stopped:
            raise ReplayStopped(f"{report.stopped}; {report.revived} of {total} were replayed")
        printing.fail_for(report.refused)
    else:
        printing.outcome("replayed", asyncio.run(_replay_many(settings, wanted, who, limit, total, as_json)), as_json)


def cancel(
    job_ids: JobIds = None,
    type_name: Type = None, tenant: Tenant = None, pool: Pool = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None, limit: Most = None, everything: Everything = False,
    reason: Reason = None, actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Give up dead letters: they become cancelled, and are kept until their retention ends."""
    wanted = dead_filter(type_name, tenant, pool, fingerprint, error, since, until)
    chosen = _choose(job_ids, wanted, everything, reason)
    settings, who = settings_for(database), operator(actor, reason)
    if chosen:
        printing.outcome("cancelled", asyncio.run(_cancel_ids(settings, chosen, who)), as_json)
        return
    total = _ask(settings, wanted, limit, "Cancel", yes, as_json)
    printing.outcome("cancelled", asyncio.run(_cancel_many(settings, wanted, who, limit, total, as_json)), as_json)


def purge(
    job_ids: JobIds = None, older_than: Age = None,
    type_name: Type = None, tenant: Tenant = None, pool: Pool = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell how many would be removed.")] = False,
    reason: Reason = None, actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Remove dead letters and their attempts for good: those that are named, or all that are old and fit."""
    wanted = dead_filter(type_name, tenant, pool, fingerprint, error, since, until)
    chosen = [whole_id(job_id) for job_id in dict.fromkeys(job_ids or ())]
    if not chosen and older_than is None:
        raise typer.BadParameter("name jobs, or say --older-than, with a filter or without one; 0s means all that fit")
    require_choice(chosen, wanted, older_than is not None)
    if not dry_run:
        require_reason(reason)
    settings, who = settings_for(database), operator(actor, reason)
    if older_than is None:
        _purge_chosen(settings, chosen, who, dry_run, yes, as_json)
    else:
        _purge_old(settings, wanted, older_than, who, dry_run, yes, as_json)


def _purge_chosen(
    settings: Settings, chosen: Sequence[str], who: Operator, dry_run: bool, yes: bool, as_json: bool
) -> None:
    found = asyncio.run(_find_dead(settings, chosen))
    if found.done and not dry_run:
        require_yes(f"Purge {len(found.done)} dead letters?", yes, as_json)
        found = asyncio.run(_purge_ids(settings, chosen, who))
    printing.purged_ids(found, dry_run, as_json)


def _purge_old(
    settings: Settings, wanted: JobFilter, older_than: float, who: Operator, dry_run: bool, yes: bool, as_json: bool
) -> None:
    total = asyncio.run(_count_old(settings, wanted, older_than))
    if total and not dry_run:
        require_yes(f"Purge {total} dead letters?", yes, as_json)
        total = asyncio.run(_purge(settings, wanted, older_than, who, total, as_json))
    printing.purged(total, dry_run, as_json)


def _choose(job_ids: Sequence[str] | None, wanted: JobFilter, everything: bool, reason: str | None) -> list[str]:
    """The jobs that were named, or none where a filter was given; many need a reason."""
    chosen = [whole_id(job_id) for job_id in dict.fromkeys(job_ids or ())]
    require_choice(chosen, wanted, everything)
    if len(chosen) != 1:
        require_reason(reason)
    return chosen


def _ask(settings: Settings, wanted: JobFilter, limit: int | None, verb: str, yes: bool, as_json: bool) -> int:
    async def count() -> int:
        async with opened(settings) as client:
            return await dead_letters.count(client.store, wanted)

    found = asyncio.run(count())
    total = found if limit is None else min(found, limit)
    if total:
        require_yes(f"{verb} {total} dead letters?", yes, as_json)
    return total


async def _replay_ids(settings: Settings, job_ids: Sequence[str], who: Operator) -> dead_letters.Outcome:
    async with opened(settings) as client:
        return await dead_letters.replay_ids(client.store, job_ids, who)


async def _cancel_ids(settings: Settings, job_ids: Sequence[str], who: Operator) -> dead_letters.Outcome:
    async with opened(settings) as client:
        return await dead_letters.cancel_ids(client.store, job_ids, who)


async def _replay_many(
    settings: Settings, wanted: JobFilter, who: Operator, most: int | None, total: int, quiet: bool
) -> dead_letters.Outcome:
    async with opened(settings) as client:
        with progress("replaying", total, quiet) as advance:
            return await dead_letters.replay_many(client.store, wanted, who, most, advance)


async def _cancel_many(
    settings: Settings, wanted: JobFilter, who: Operator, most: int | None, total: int, quiet: bool
) -> dead_letters.Outcome:
    async with opened(settings) as client:
        with progress("cancelling", total, quiet) as advance:
            return await dead_letters.cancel_many(client.store, wanted, who, most, advance)


async def _replay_staged(
    settings: Settings,
    wanted: JobFilter,
    who: Operator,
    pace: staged_replay.Pace,
    most: int | None,
    total: int,
    quiet: bool,
) -> staged_replay.Report:
    async with opened(settings) as client:
        with progress("replaying in stages", total, quiet) as advance:
            return await staged_replay.replay_in_stages(
                client.store, wanted, who, pace, most, lambda stage: advance(stage.revived + stage.refused)
            )


async def _find_dead(settings: Settings, job_ids: Sequence[str]) -> dead_letters.Outcome:
    async with opened(settings) as client:
        return await dead_letters.find_dead(client.store, job_ids)


async def _purge_ids(settings: Settings, job_ids: Sequence[str], who: Operator) -> dead_letters.Outcome:
    async with opened(settings) as client:
        return await dead_letters.purge_ids(client.store, job_ids, who)


async def _count_old(settings: Settings, wanted: JobFilter, older_than: float) -> int:
    async with opened(settings) as client:
        return await dead_letters.count_old(client.store, wanted, older_than)


async def _purge(
    settings: Settings, wanted: JobFilter, older_than: float, who: Operator, total: int, quiet: bool
) -> int:
    async with opened(settings) as client:
        with progress("purging", total, quiet) as advance:
            return await dead_letters.purge(client.store, wanted, older_than, who, advance)
