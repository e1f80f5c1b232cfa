"""`fairlead jobs cancel`: jobs by their ids, or all that fit a filter."""

import asyncio
from typing import Annotated

import typer
from rich.text import Text

from fairlead.cli.dead_letters_output import fail_for, refused_documents
from fairlead.cli.enqueue import PriorityOption, parse_duration
from fairlead.cli.filters import (
    Actor,
    Most,
    Pool,
    Reason,
    Tenant,
    Type,
    Yes,
    operator,
    require_choice,
    require_reason,
    require_yes,
)
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import COLOURS, progress, show, show_json, state_cell
from fairlead.config import Settings
from fairlead.core.jobs.cancel import GRACE
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.states import State
from fairlead.operate import cancel_jobs as cancel
from fairlead.operate.audit import Operator

JobIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The whole ids of the jobs.")]
States = Annotated[
    list[State] | None, typer.Option("--state", help="Only jobs in this state; repeat it for more.")
]  # fmt: skip
Key = Annotated[str | None, typer.Option(help="Only jobs with this idempotency key.")]
Everything = Annotated[bool, typer.Option("--all", help="All jobs that have not ended.")]
Grace = Annotated[
    float,
    typer.Option(parser=parse_duration, metavar="DURATION", help="How long a running handler may take to end."),
]


def cancel_jobs(
    job_ids: JobIds = None, states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    priority: PriorityOption = None, key: Key = None, everything: Everything = False, limit: Most = None,
    grace: Grace = GRACE, reason: Reason = None, actor: Actor = None, yes: Yes = False,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Cancel jobs: those that wait at once, running ones through their worker. Name them, or give a filter."""
    wanted = JobFilter(tuple(states or ()), type_name, tenant, pool, priority, key)
    require_choice(job_ids or [], wanted, everything)
    settings, who = settings_for(database), operator(actor, reason)
    if job_ids:
        _print_report(asyncio.run(_cancel_ids(settings, job_ids, who, grace)), as_json)
        return
    require_reason(reason)
    total = _agreed(settings, wanted, limit, yes, as_json)
    counts = asyncio.run(_cancel_many(settings, wanted, who, grace, limit, total, as_json))
    _print_counts(counts, as_json)


def _agreed(settings: Settings, wanted: JobFilter, limit: int | None, yes: bool, as_json: bool) -> int:
    """How many jobs it is about, after a person has seen that and agreed."""
    found = asyncio.run(_count(settings, wanted))
    total = sum(found.values()) if limit is None else min(limit, sum(found.values()))
    parts = ", ".join(f"{number} {state}" for state, number in sorted(found.items()))
    if total:
        require_yes(f"cancel {total} jobs ({parts})?", yes, as_json)
    return total


def _print_report(report: cancel.Report, as_json: bool) -> None:
    if as_json:
        refused = refused_documents(report.refused)
        show_json({"cancelled": report.cancelled, "asked": report.asked, "refused": refused})
    else:
        _print_ids(report)
    fail_for(report.refused)


def _print_ids(report: cancel.Report) -> None:
    for job_id in report.cancelled:
        show(job_id, state_cell(State.CANCELLED), wrap=False)
    for job_id in report.asked:
        show(job_id, Text("running, its worker was asked to end it", COLOURS[State.RUNNING]), wrap=False)


def _print_counts(counts: cancel.CancelCounts, as_json: bool) -> None:
    if as_json:
        show_json({"cancelled": counts.cancelled, "asked": counts.asked})
    else:
        asking = f", and the workers of {counts.asked} running ones asked to end them" if counts.asked else ""
        show(f"{counts.cancelled} jobs cancelled{asking}")


async def _count(settings: Settings, wanted: JobFilter) -> dict[State, int]:
    async with opened(settings) as client:
        return await cancel.count(client.store, wanted)


async def _cancel_ids(settings: Settings, job_ids: list[str], who: Operator, grace: float) -> cancel.Report:
    async with opened(settings) as client:
        return await cancel.cancel_ids(client.store, job_ids, who, grace)


async def _cancel_many(
    settings: Settings, wanted: JobFilter, who: Operator, grace: float, most: int | None, total: int, quiet: bool
) -> cancel.CancelCounts:
    async with opened(settings) as client:
        with progress("cancelling", total, quiet) as advance:
            return await cancel.cancel_many(client.store, wanted, who, grace, most, advance)
