"""`fairlead jobs explain`, `retry` and `change`: why a job waits, and what can be done about it."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

import typer

from fairlead.cli.enqueue import PriorityOption, parse_instant, read_payload
from fairlead.cli.filters import Actor, Reason, operator
from fairlead.cli.jobs import JobId, whole_id
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import job_document, json_moment, moment, plain, show, show_json, state_cell
from fairlead.config import Settings
from fairlead.core.durations import instant
from fairlead.core.insight.explain import Explanation
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Priority
from fairlead.operate.audit import Operator
from fairlead.operate.change_jobs import change_job, retry_job
from fairlead.operate.job_explanation import explain_job


def explain(job_id: JobId, database: Database = None, as_json: Json = False) -> None:
    """Say why a job is where it is, and when it should start."""
    explanation = asyncio.run(_explain(settings_for(database), whole_id(job_id)))
    if as_json:
        show_json(_document(explanation))
        return
    show(job_id, state_cell(explanation.state), wrap=False)
    for reason in explanation.reasons:
        show(f"  {plain(reason.words)}", wrap=False)
    if explanation.expected_start is not None:
        show(f"  expected to start at {moment(instant(explanation.expected_start))}", wrap=False)


def retry(
    job_id: JobId, actor: Actor = None, reason: Reason = None, database: Database = None, as_json: Json = False
) -> None:
    """Let a job run now that is dead, waits for a retry, or waits for its time."""
    job = asyncio.run(_retry(settings_for(database), whole_id(job_id), operator(actor, reason)))
    _print(job, as_json)


def change(
    job_id: JobId,
    priority: PriorityOption = None,
    run_at: Annotated[
        datetime | None, typer.Option(parser=parse_instant, metavar="ISO-TIME", help="When it is to run.")
    ] = None,
    payload: Annotated[
        str | None, typer.Option(metavar="JSON", help="Its new arguments as a JSON object; - reads standard input.")
    ] = None,
    actor: Actor = None,
    reason: Reason = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Change the priority, the time or the payload of a job that still waits."""
    if priority is None and run_at is None and payload is None:
        raise typer.BadParameter("name what to change: --priority, --run-at or --payload")
    arguments = None if payload is None else read_payload(payload)
    who = operator(actor, reason)
    job = asyncio.run(_change(settings_for(database), whole_id(job_id), who, priority, run_at, arguments))
    _print(job, as_json)


async def _explain(settings: Settings, job_id: str) -> Explanation:
    async with opened(settings) as client:
        return await explain_job(client.store, await client.read(job_id))


async def _retry(settings: Settings, job_id: str, who: Operator) -> JobRecord:
    async with opened(settings) as client:
        return await retry_job(client.store, job_id, who)


async def _change(
    settings: Settings,
    job_id: str,
    who: Operator,
    priority: Priority | None,
    run_at: datetime | None,
    payload: dict[str, Any] | None,
) -> JobRecord:
    async with opened(settings) as client:
        return await change_job(client.store, job_id, who, settings.payload_limit, priority, run_at, payload)


def _print(job: JobRecord, as_json: bool) -> None:
    if as_json:
        show_json(job_document(job))
    else:
        show(job.id, state_cell(job.state), wrap=False)


def _document(explanation: Explanation) -> dict[str, Any]:
    return {
        "state": explanation.state.value,
        "summary": explanation.summary,
        "reasons": [
            {"code": reason.code, "words": reason.words, "data": dict(reason.data)} for reason in explanation.reasons
        ],
        "estimated_start": json_moment(instant(explanation.expected_start)),
    }
