"""`fairlead jobs`: list and show."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlead.cli.enqueue import PriorityOption
from fairlead.cli.loading import Database, Json, opened, settings_for
from fairlead.cli.output import (
    attempt_document,
    block,
    cell,
    is_narrow,
    job_document,
    json_value,
    moment,
    moment_document,
    show,
    show_json,
    state_cell,
    table,
)
from fairlead.config import Settings
from fairlead.core.durations import humanize
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobFilter, JobRecord, Page
from fairlead.core.jobs.model import ErrorInfo
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State
from fairlead.errors import JobNotFound
from fairlead.operate import dead_letters
from fairlead.operate.dead_letters import DeadLetter
from fairlead.operate.job_terms import JobTerms, job_terms
from fairlead.records.store import Store


def parse_cursor(text: str) -> str:
    """A cursor, as a usage error where it is none."""
    if not is_id(text):
        raise typer.BadParameter(f"{text!r} is not a cursor; take the one that the page before ends with")
    return text


BAR = 24

JobId = Annotated[str, typer.Argument(metavar="ID", help="The whole id of the job.")]
Filter = Annotated[str | None, typer.Option(help="Only jobs that have exactly this.")]


def list_jobs(
    states: Annotated[list[State] | None, typer.Option("--state", help="A state; repeat it for more.")] = None,
    type_name: Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")] = None,
    tenant: Filter = None,
    pool: Filter = None,
    priority: PriorityOption = None,
    key: Filter = None,
    key_contains: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only jobs with this text in their idempotency key.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many jobs a page has.")] = 20,
    cursor: Annotated[
        str | None, typer.Option(parser=parse_cursor, metavar="CURSOR", help="Go on where a page ended.")
    ] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List jobs, newest first."""
    wanted = JobFilter(tuple(states or ()), type_name, tenant, pool, priority, key)
    page = asyncio.run(_list(settings_for(database), wanted, limit, cursor, key_contains))
    if as_json:
        show_json({"jobs": [job_document(job) for job in page.jobs], "cursor": page.cursor})
    else:
        _print_page(page)


def show_job(job_id: JobId, database: Database = None, as_json: Json = False) -> None:
    """Show everything about one job."""
    found, terms, lease = asyncio.run(_read(settings_for(database), whole_id(job_id)))
    if as_json:
        show_json({**whole_document(found), **_terms_document(terms, lease)})
    else:
        print_job(found, _terms(found.record, terms, lease))


def whole_document(found: DeadLetter) -> dict[str, Any]:
    """A job with its failed runs and its timeline, in JSON."""
    attempts = [attempt_document(attempt) for attempt in found.attempts]
    moments = [moment_document(step) for step in found.timeline()]
    return {**job_document(found.record), "attempts": attempts, "timeline": moments}


def whole_id(text: str) -> str:
    """The id itself; a part of one finds nothing."""
    if not is_id(text):
        raise JobNotFound(f"{text!r} is not the id of a job; ids have 36 characters, take the whole id")
    return text


async def _list(settings: Settings, wanted: JobFilter, limit: int, cursor: str | None, containing: str | None) -> Page:
    async with opened(settings) as client:
        return await client.list_jobs(wanted, limit, cursor, containing)


async def _read(settings: Settings, job_id: str) -> tuple[DeadLetter, JobTerms, float | None]:
    async with opened(settings) as client:
        found = await dead_letters.show(client.store, job_id)
        return found, await job_terms(client.store, found.record), await _lease_left(client.store, found.record)


async def _lease_left(store: Store, job: JobRecord) -> float | None:
    """For how long the worker of a running job still owns it, if it says nothing more."""
    if job.state is not State.RUNNING:
        return None
    left = [worker.lease_left for worker in await store.workers.all() if worker.info.id == job.worker]
    return max(0.0, left[0]) if left else 0.0


def _terms(job: JobRecord, terms: JobTerms, lease: float | None) -> dict[str, object]:
    """What there is to say about how a job runs."""
    return {
        "attempt": f"{job.attempt} of {terms.attempts}" if terms.attempts else job.attempt,
        "timeout": None if terms.timeout is None else humanize(terms.timeout),
        "lease": None if lease is None else f"{humanize(lease)} left",
    }


def _terms_document(terms: JobTerms, lease: float | None) -> dict[str, Any]:
    return {"attempts_allowed": terms.attempts, "timeout": terms.timeout, "lease_left": lease}


def _print_page(page: Page) -> None:
    now = time.time()
    rows = [_columns(job, now) for job in page.jobs]
    if rows:
        listing = table(**{name: name not in ("type", "tenant", "error") for name in rows[0]})
        for row in rows:
            listing.add_row(*row.values())
        show(listing)
    else:
        show("no jobs among the newest" if page.cursor else "no jobs")
    if page.cursor:
        show(Text(f"more: repeat the command with --cursor {page.cursor}", "dim"), wrap=False)


def _columns(job: JobRecord, now: float) -> dict[str, Text]:
    """A line of the listing; on a narrow terminal only what tells most."""
    columns = {
        "id": cell(job.id),
        "type": cell(job.type),
        "tenant": cell(job.tenant),
        "state": state_cell(job.state),
        "try": cell(job.attempt),
        "age": cell(humanize(max(0.0, now - job.created_at.timestamp()))),
        "took": cell(_took(job, now)),
        "error": cell(short(job.error)),
    }
    dropped = ("tenant", "took") if is_narrow() else ()
    return {name: text for name, text in columns.items() if name not in dropped}


def print_job(found: DeadLetter, terms: Mapping[str, object] | None = None) -> None:
    """Print everything about a job for a person; the terms go before what the record says."""
    job, attempts = found.record, found.attempts
    for name, value in _fields(job, terms or {}):
        shown = value if isinstance(value, Text) else block(value)
        show(Text(f"{name:<12}", "bold"), shown, wrap=False)
    _print_timeline(found.timeline())
    _print_section("payload", _pretty(job.payload))
    if job.result is not None:
        _print_section("result", _pretty(job.result))
    failures = [attempt.error for attempt in attempts if attempt.error and attempt.error.traceback]
    if failures:
        _print_section("traceback of the last failure", failures[-1].traceback or "")


def _fields(job: JobRecord, terms: Mapping[str, object]) -> list[tuple[str, object]]:
    """What there is to say about a job, without what it does not have."""
    fields: list[tuple[str, object]] = [
        ("id", job.id),
        ("type", f"{job.type} (version {job.version})"),
        ("state", state_cell(job.state)),
        ("tenant", job.tenant),
        ("pool", job.pool),
        ("priority", job.priority.word),
        ("attempt", terms.get("attempt", job.attempt)),
        ("crashes", job.crashes or None),
        ("fence", job.fence),
        ("replays", job.replays or None),
        ("worker", job.worker),
        ("lease", terms.get("lease")),
        ("timeout", terms.get("timeout")),
        ("created", moment(job.created_at)),
        ("run at", moment(job.run_at)),
        ("not after", moment(job.not_after)),
        ("progress", cell(_progress(job.progress)) if job.progress else None),
        ("key", cell(job.key) if job.key is not None else None),
        ("parent", job.parent),
        ("options", job.options),
        ("error", cell(short(job.error)) if job.error else None),
        ("failure", job.error.failure.value if job.error and job.error.failure else None),
        ("fingerprint", job.error.fingerprint if job.error else None),
    ]
    return [(name, value) for name, value in fields if value is not None]


def _progress(found: Progress) -> str:
    """How far the last run has come, as a bar with what its handler said."""
    full = round(found.fraction * BAR)
    counts = "" if found.total is None else f" ({found.done:g} of {found.total:g})"
    return f"{'█' * full}{'░' * (BAR - full)} {found.fraction:.0%}{counts} {found.message}".rstrip()


def _print_timeline(moments: Sequence[Moment]) -> None:
    listing = table(when=True, what=True, state=True, worker=True, took=True, note=False)
    for step in moments:
        took = None if step.took is None else humanize(max(0.0, step.took))
        columns = (step.worker and step.worker[:8], took, _note(step))
        state = Text() if step.state is None else state_cell(step.state)
        listing.add_row(cell(moment(step.at)), cell(_what(step)), state, *map(cell, columns))
    show(Text("\ntimeline", "bold"))
    show(listing)


def _what(step: Moment) -> str:
    failure = step.error and step.error.failure
    number = "" if step.attempt is None else f"attempt {step.attempt} "
    return f"{number}{step.what}" + (f" ({failure.value})" if failure else "")


def _note(step: Moment) -> str:
    """What there is to say about a moment beside its facts."""
    by = step.by and f"by {step.by}"
    return "; ".join(str(part) for part in (by, step.note, short(step.error)) if part)


def _print_section(title: str, text: str) -> None:
    show(Text(f"\n{title}", "bold"))
    show(block(text), wrap=False)


def _pretty(text: str) -> str:
    value = json_value(text)
    return value if isinstance(value, str) and value == text else json.dumps(value, indent=2, ensure_ascii=False)


def _took(job: JobRecord, now: float) -> str | None:
    """How long the last run took, or has taken until now; None between two runs."""
    if job.started_at is None or not (job.finished_at or job.state is State.RUNNING):
        return None
    end = job.finished_at.timestamp() if job.finished_at else now
    return humanize(max(0.0, end - job.started_at.timestamp()))


def short(error: ErrorInfo | None) -> str | None:
    """An error in one line."""
    return None if error is None else f"{error.type}: {error.message}"
