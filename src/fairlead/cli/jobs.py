"""`fairlead jobs`: list, show and explain jobs, group dead ones by error, and act on them (job_actions)."""

import time
from typing import Annotated

import typer

from fairlead.cli import dead_job_actions, job_actions
from fairlead.cli.job_output import print_job, print_page
from fairlead.cli.loading import on_client, on_store
from fairlead.cli.options import (
    Cursor,
    Database,
    Error,
    Fingerprint,
    JobId,
    Json,
    Key,
    OfPriority,
    PageSize,
    Pool,
    Since,
    States,
    Tenant,
    Type,
    Until,
    group,
    whole_id,
)
from fairlead.cli.output import listing, moment, plain, show, show_document, state_cell
from fairlead.core.durations import instant
from fairlead.core.insight.explain import Explanation
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.job_records import JobFilter, JobRecord
from fairlead.core.jobs.states import State
from fairlead.insight.job_explanation import explain_job
from fairlead.insight.job_types import JobTerms, job_terms
from fairlead.operate import dead_letters
from fairlead.operate.dead_letters import DeadLetter
from fairlead.records.store import Store

app = group("Look at jobs, dead letters among them; change, cancel, replay and purge them.")
app.command("change")(job_actions.change)
app.command("run-now")(job_actions.run_now)
app.command("cancel")(job_actions.cancel)
app.command("replay")(dead_job_actions.replay)
app.command("purge")(dead_job_actions.purge)

KeyPart = Annotated[str | None, typer.Option(metavar="TEXT", help="Only jobs with this text in their idempotency key.")]


@app.command("list")
def list_jobs(
    states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    priority: OfPriority = None, key: Key = None, key_contains: KeyPart = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None, limit: PageSize = 20, cursor: Cursor = None,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List jobs, newest first; dead letters are the jobs with --state dead."""
    wanted = JobFilter(
        tuple(states or ()), type_name, tenant, pool, priority, key, fingerprint=fingerprint, error_type=error,
        finished_after=since, finished_before=until,
    )  # fmt: skip
    page = on_client(database, lambda client: client.list_jobs(wanted, limit, cursor, key_contains))
    if as_json:
        from fairlead.documents.jobs import JobDocument, JobPage

        show_document(JobPage(jobs=[JobDocument.of(job) for job in page.jobs], cursor=page.cursor))
    else:
        print_page(page, time.time())


@app.command("show")
def show_job(job_id: JobId, database: Database = None, as_json: Json = False) -> None:
    """Show everything about a job: its terms, its failed runs, and what happened to it."""
    whole_id(job_id)

    async def read(store: Store) -> tuple[DeadLetter, JobTerms, float | None]:
        found = await dead_letters.show(store, job_id)
        return found, await job_terms(store, found.record), await _lease_left(store, found.record)

    found, terms, lease = on_store(database, read)
    if as_json:
        from fairlead.documents.jobs import AttemptDocument, CheckpointDocument, JobDetail, MomentDocument

        attempts = [AttemptDocument.of(attempt) for attempt in found.attempts]
        timeline = [MomentDocument.of(step) for step in found.timeline()]
        show_document(
            JobDetail.of(
                found.record,
                attempts_allowed=terms.attempts,
                timeout=terms.timeout,
                attempts=attempts,
                timeline=timeline,
                checkpoints=[CheckpointDocument.of(item) for item in found.checkpoints],
            )
        )
    else:
        print_job(found, terms, lease)


@app.command()
def explain(job_id: JobId, database: Database = None, as_json: Json = False) -> None:
    """Say why a job is where it is, and when it should start."""
    whole_id(job_id)

    async def read(store: Store) -> Explanation:
        return await explain_job(store, (await dead_letters.show(store, job_id)).record)

    found = on_store(database, read)
    start = instant(found.expected_start)
    if as_json:
        from fairlead.documents.jobs import ExplanationDocument

        show_document(ExplanationDocument.of(found, estimated_start=start))
        return
    show(job_id, state_cell(found.state), wrap=False)
    for reason in found.reasons:
        show(f"  {plain(reason.words)}", wrap=False)
    if start is not None:
        show(f"  expected to start at {moment(start)}", wrap=False)


@app.command()
def groups(
    type_name: Type = None, tenant: Tenant = None, pool: Pool = None, fingerprint: Fingerprint = None,
    error: Error = None, since: Since = None, until: Until = None, limit: PageSize = 20, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Group dead jobs by type and error, the largest group first."""
    wanted = JobFilter(
        type=type_name, tenant=tenant, pool=pool, fingerprint=fingerprint, error_type=error, finished_after=since,
        finished_before=until,
    )  # fmt: skip

    async def read(store: Store) -> tuple[list[DeadGroup], dict[tuple[str | None, str], list[int]]]:
        return await dead_letters.groups(store, wanted, limit), await dead_letters.trends(store, wanted)

    found, trends = on_store(database, read)
    if as_json:
        from fairlead.documents.dead_letters import DeadGroupDocument, DeadGroups

        documents = [DeadGroupDocument.of(item, trends.get((item.fingerprint, item.type))) for item in found]
        show_document(DeadGroups(groups=documents))
        return
    listing(
        found,
        {
            "fingerprint": lambda item: item.fingerprint,
            "jobs": lambda item: item.count,
            "tenants": lambda item: item.tenants,
            "type": lambda item: item.type,
            "first": lambda item: item.first_at,
            "last": lambda item: item.last_at,
            "error": lambda item: f"{item.error_type}: {item.message}",
        },
        none="no dead letters",
        cut=("type", "error"),
    )


async def _lease_left(store: Store, job: JobRecord) -> float | None:
    """How long the worker of a running job owns it if nothing more is heard of the worker."""
    if job.state is not State.RUNNING:
        return None
    left = [worker.lease_left for worker in await store.workers.all() if worker.info.id == job.worker]
    return max(0.0, left[0]) if left else 0.0
