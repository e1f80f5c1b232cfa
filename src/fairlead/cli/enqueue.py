"""`fairlead enqueue`: submit one job, with the app's code or by what its workers have registered."""

import asyncio
import json
from datetime import datetime
from typing import Annotated, Any

import typer

from fairlead.app import App
from fairlead.cli.lines import enqueue_lines, with_attempts
from fairlead.cli.loading import load_app, opened, settings_for
from fairlead.cli.options import (
    AppOption,
    CallbackOption,
    Database,
    Json,
    PriorityOption,
    RetryOption,
    duration,
    instant,
    read_payload,
)
from fairlead.cli.output import moment, plain, show, show_document, state_cell
from fairlead.client.by_name import submit_registered
from fairlead.client.client import Client
from fairlead.client.job import Job
from fairlead.config import Settings
from fairlead.core.durations import humanize
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Priority, Scope
from fairlead.core.jobs.states import State
from fairlead.errors import JobError, JobNotFound, ResultDropped, StoreError
from fairlead.handlers.options import Options

app = typer.Typer()


@app.command()
def enqueue(
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")],
    payload: Annotated[
        str | None,
        typer.Argument(metavar="PAYLOAD", help="The arguments as a JSON object; - reads it from standard input."),
    ] = None,
    app_path: AppOption = None,
    tenant: Annotated[str | None, typer.Option(help="Whose job it is.")] = None,
    priority: PriorityOption = None,
    pool: Annotated[str | None, typer.Option(help="The pool that runs it, instead of the type's own.")] = None,
    run_in: Annotated[float | None, duration("Run it after this time, like 30s or 5m.")] = None,
    run_at: Annotated[datetime | None, instant("Run it at this time.")] = None,
    not_after: Annotated[datetime | None, instant("Do not start it after this time.")] = None,
    exact: Annotated[
        bool | None, typer.Option("--exact", help="Keep a time more than an hour ahead to the second.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="An idempotency key: one job for many submissions.")] = None,
    scope: Annotated[Scope | None, typer.Option(help="For how long the key keeps its job.")] = None,
    window: Annotated[float | None, duration("How long the scope window lasts.")] = None,
    timeout: Annotated[float | None, duration("The longest that one attempt may take.")] = None,
    attempts: Annotated[int | None, typer.Option(min=1, max=1000, help="How often it is tried.")] = None,
    retry: RetryOption = None,
    limit: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A limit of its own, beside those of its type; repeatable.")
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="ID", help="The job that it belongs to: kept with it, it waits for nothing.")
    ] = None,
    callback: CallbackOption = None,
    wait: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Wait for its end.")] = None,
    lines: Annotated[
        str | None, typer.Option(metavar="FILE", help="Submit a job for each line, a JSON object; - reads them.")
    ] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Submit one job, or many with --lines.

    Without --app the type must be registered in the database, as workers do when they start.
    """
    if run_in is not None and run_at is not None:
        raise typer.BadParameter("--run-in and --run-at exclude each other; give one of them")
    if attempts is not None and retry is not None:
        raise typer.BadParameter("--attempts and --retry exclude each other; a policy has attempts of its own")
    options = Options(
        tenant=tenant,
        priority=Priority.DEFAULT if priority is None else priority,
        pool=pool,
        run_in=run_in,
        run_at=run_at,
        not_after=not_after,
        exact=exact,
        timeout=timeout,
        retry=retry,
        callback=callback,
        limit=limit,
        parent=parent,
    )
    options = _with_key(options, key, scope, window)
    if lines is not None and (payload, key, wait) != (None, None, None):
        raise typer.BadParameter("--lines goes with no PAYLOAD, no --key and no --wait: it is for many jobs")
    arguments = {} if payload is None else read_payload(payload)
    app = load_app(app_path) if app_path else None
    settings = settings_for(database, app)
    if lines is not None:
        asyncio.run(enqueue_lines(settings, app, type_name, lines, options, attempts, as_json))
        return
    asyncio.run(_enqueue(settings, app, type_name, arguments, options, attempts, wait, as_json))


def _with_key(options: Options, key: str | None, scope: Scope | None, window: float | None) -> Options:
    if key is None and (scope or window is not None):
        raise typer.BadParameter("--scope and --window need --key")
    if (scope is Scope.WINDOW and window is None) or (window is not None and scope not in (None, Scope.WINDOW)):
        raise typer.BadParameter("--window goes with --scope window, and that scope needs it")
    reach = Scope.ACTIVE if window is None else Scope.WINDOW
    return options.but(idempotency_key=key, idempotency_scope=scope or reach, idempotency_window=window)


async def _enqueue(
    settings: Settings,
    app: App | None,
    type_name: str,
    arguments: dict[str, Any],
    options: Options,
    attempts: int | None,
    wait: float | None,
    as_json: bool,
) -> None:
    async with opened(settings) as client:
        if app is None:
            job = await submit_registered(client, type_name, arguments, options, settings, attempts)
        else:
            job = await _submit_declared(client, app, type_name, arguments, options, attempts)
        await _follow(job, wait, as_json)


async def _submit_declared(
    client: Client, app: App, type_name: str, arguments: dict[str, Any], options: Options, attempts: int | None
) -> Job:
    """Submit by the handler's declaration; the arguments are read as JSON, as a worker will read them."""
    spec = app.registry[type_name]
    call = spec.arguments.load(json.dumps(arguments))
    (job,) = await client.enqueue(spec, [call], with_attempts(options, spec, attempts))
    return job


async def _follow(job: Job, wait: float | None, as_json: bool) -> None:
    """Wait if asked to, and print the job whatever became of it before an error ends the command."""
    failure: JobError | None = None
    if job.shed:
        await job.wait()  # says that there is nothing to wait for
    try:
        if wait is not None:
            await job.wait(wait)
    except JobNotFound:
        raise
    except ResultDropped:  # the job succeeded: its record says the rest
        pass
    except JobError as error:
        failure = error
    except StoreError as error:
        raise type(error)(f"job {job.id} is stored, but it cannot be followed: {error}") from error
    _print(job, await job.read(), await job.estimated_start(), as_json)
    if failure:
        raise failure


def _print(job: Job, record: JobRecord, start: datetime | None, as_json: bool) -> None:
    if as_json:
        show_document(_document(job, record, start))
        return
    show(record.id, state_cell(record.state), _note(job), wrap=False)
    if record.state is State.SCHEDULED and start is not None:
        show(f"  expected to start at {moment(start)}", wrap=False)
    if record.state is State.SUCCEEDED and record.error is not None:
        show(f"  its result was dropped: {record.error.message}", wrap=False)
    if record.result is not None:
        show(plain(json.dumps(record.result, ensure_ascii=False, separators=(",", ":"))), wrap=False)


def _note(job: Job) -> str:
    if job.deferred is not None:
        return f"(put off for {humanize(job.deferred)}: the system is overloaded)"
    return "(was there before)" if job.duplicate else ""


def _document(job: Job, record: JobRecord, start: datetime | None) -> dict[str, Any]:
    """The job as it was submitted, and its end if it was waited for."""
    from fairlead.documents.jobs import ErrorDocument, SubmittedDocument

    submitted = SubmittedDocument.of(
        record, duplicate=job.duplicate, shed=job.shed, deferred=job.deferred, estimated_start=start, gone=False
    )
    error = record.error and ErrorDocument.of(record.error).as_json()
    return {**submitted.as_json(), "result": record.result, "error": error}
