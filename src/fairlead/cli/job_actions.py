"""The commands of `fairlead jobs` that change jobs: change, run-now and cancel.

Each takes ids, or a filter with a reason; for a filter it says how many jobs fit and asks first.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.text import Text

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
    Key,
    Most,
    OfPriority,
    Pool,
    PriorityOption,
    Reason,
    Since,
    States,
    Tenant,
    Type,
    Until,
    Yes,
    chosen_ids,
    duration,
    instant,
    operator,
    parse_priority,
    read_payload,
    require_yes,
)
from fairlead.cli.output import COLOURS, progress, show, show_document, state_cell
from fairlead.core.jobs.cancel import GRACE
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.states import State
from fairlead.errors import JobError
from fairlead.operate import cancel_jobs, change_jobs, dead_letters
from fairlead.operate.cancel_jobs import CancelCounts, Report
from fairlead.operate.dead_letters import Outcome
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

MOST = 1_000_000

RunAt = Annotated[datetime | None, instant("When it is to run.")]
Payload = Annotated[
    str | None, typer.Option(metavar="JSON", help="Its new arguments as a JSON object; - reads standard input.")
]
WasPriority = Annotated[
    Priority | None, typer.Option("--was", parser=parse_priority, metavar="PRIORITY", help="Only jobs that have this.")
]
Grace = Annotated[float, duration("How long a running handler may take to end.")]


def change(
    job_ids: JobIds = None, priority: PriorityOption = None, run_at: RunAt = None, payload: Payload = None,
    states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None, was: WasPriority = None,
    everything: Everything = False, limit: Most = None, reason: Reason = None, actor: Actor = None, yes: Yes = False,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Change the priority, the time or the payload of a waiting job, the payload of a dead one; or many priorities."""
    wanted = JobFilter(tuple(states or ()), type_name, tenant, pool, was)
    chosen = chosen_ids(job_ids, wanted, everything, reason)
    if priority is None and run_at is None and payload is None:
        raise typer.BadParameter("name what to change: --priority, --run-at or --payload")
    if len(chosen) != 1 and (priority is None or run_at is not None or payload is not None):
        raise typer.BadParameter("of many jobs only the --priority can be changed")
    who = operator(actor, reason)
    if len(chosen) == 1:
        arguments = None if payload is None else read_payload(payload)
        _change_one(database, chosen[0], who, priority, run_at, arguments, as_json)
    elif chosen:
        limit_of = settings_for(database).payload_limit
        _each(
            database, chosen, f"given the priority {priority.word if priority else ''}", as_json,
            lambda store, job_id: change_jobs.change_job(store, job_id, who, limit_of, priority),
        )  # fmt: skip
    else:
        assert priority is not None
        new = priority
        _many(
            database, wanted, change_jobs.WAITING, limit, yes, as_json, f"give {{}} the priority {new.word}?",
            f"given the priority {new.word}",
            lambda store, filter_, most: change_jobs.set_priorities(store, filter_, who, most, new),
        )  # fmt: skip


def run_now(
    job_ids: JobIds = None, states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    priority: OfPriority = None, everything: Everything = False, limit: Most = None, reason: Reason = None,
    actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Let jobs run now that wait for their time or for a retry."""
    wanted = JobFilter(tuple(states or ()), type_name, tenant, pool, priority)
    chosen, who = chosen_ids(job_ids, wanted, everything, reason), operator(actor, reason)
    if chosen:
        _each(database, chosen, "made ready", as_json, lambda store, job_id: change_jobs.retry_job(store, job_id, who))
    else:
        _many(
            database, wanted, change_jobs.DELAYED, limit, yes, as_json, "run {} now?", "made ready",
            lambda store, filter_, most: change_jobs.hasten_many(store, filter_, who, most),
        )  # fmt: skip


def cancel(
    job_ids: JobIds = None, states: States = None, type_name: Type = None, tenant: Tenant = None, pool: Pool = None,
    priority: OfPriority = None, key: Key = None, fingerprint: Fingerprint = None, error: Error = None,
    since: Since = None, until: Until = None, everything: Everything = False, limit: Most = None, grace: Grace = GRACE,
    reason: Reason = None, actor: Actor = None, yes: Yes = False, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Cancel jobs: waiting ones at once, running ones through their worker, dead ones with --state dead."""
    wanted = JobFilter(
        tuple(states or ()), type_name, tenant, pool, priority, key, fingerprint=fingerprint, error_type=error,
        finished_after=since, finished_before=until,
    )  # fmt: skip
    chosen, who = chosen_ids(job_ids, wanted, everything, reason), operator(actor, reason)
    if chosen:
        report = on_store(database, lambda store: _cancel_ids(store, chosen, who, grace))
        _print_cancelled(report, as_json)
    elif wanted.states == (State.DEAD,):
        _cancel_dead(database, wanted, who, limit, yes, as_json)
    else:
        if fingerprint or error or since or until:
            raise typer.BadParameter("--fingerprint, --error, --since and --until go with --state dead")
        _cancel_live(database, wanted, who, grace, limit, yes, as_json)


# Changing, and running now.


def _change_one(
    database: str | None, job_id: str, who: Operator, priority: Priority | None, run_at: datetime | None,
    payload: dict[str, Any] | None, as_json: bool,
) -> None:  # fmt: skip
    from fairlead.documents.jobs import JobDocument

    limit = settings_for(database).payload_limit

    async def act(store: Store) -> Any:
        found = (await dead_letters.show(store, job_id)).record
        if found.state is State.DEAD and payload is not None and priority is None and run_at is None:
            await dead_letters.edit(store, job_id, payload, limit, who)
            return (await dead_letters.show(store, job_id)).record
        return await change_jobs.change_job(store, job_id, who, limit, priority, run_at, payload)

    job = on_store(database, act)
    show_document(JobDocument.of(job)) if as_json else show(job.id, state_cell(job.state), wrap=False)


def _each(
    database: str | None, job_ids: Sequence[str], done: str, as_json: bool,
    act: Callable[[Store, str], Awaitable[object]],
) -> None:  # fmt: skip
    """Do something with each job, as far as possible."""

    async def run(store: Store) -> Outcome:
        ids, refused = list[str](), dict[str, JobError]()
        for job_id in job_ids:
            try:
                await act(store, job_id)
                ids.append(job_id)
            except JobError as error:
                refused[job_id] = error
        return Outcome(tuple(ids), refused)

    print_done(on_store(database, run), done, as_json)


def _many(
    database: str | None, wanted: JobFilter, states: tuple[State, ...], limit: int | None, yes: bool, as_json: bool,
    question: str, done: str, act: Callable[[Store, JobFilter, int], Awaitable[int]],
) -> None:  # fmt: skip
    """Change all jobs that fit and are in one of the states, after a person has seen how many and agreed."""

    from fairlead.documents.bulk import ChangeReport

    chosen = replace(wanted, states=wanted.states or states)
    total = _agreed_live(database, chosen, limit, question, yes, as_json)
    changed = on_store(database, lambda store: act(store, chosen, limit or MOST)) if total else 0
    if as_json:
        show_document(ChangeReport(changed=changed))
    else:
        show(f"{changed} jobs {done}" if total else "no jobs fit")


def _agreed_live(
    database: str | None, wanted: JobFilter, limit: int | None, question: str, yes: bool, as_json: bool
) -> int:
    """How many live jobs fit, after a person has seen that and agreed."""
    found = on_store(database, lambda store: cancel_jobs.count(store, wanted))
    total = sum(found.values()) if limit is None else min(limit, sum(found.values()))
    parts = ", ".join(f"{number} {state}" for state, number in sorted(found.items()))
    if total:
        require_yes(question.format(f"{total} jobs ({parts})"), yes, as_json)
    return total


# Cancelling.


async def _cancel_ids(store: Store, job_ids: Sequence[str], who: Operator, grace: float) -> Report:
    """Cancel live and dead jobs."""
    dead = [job.id for job in await store.reader.read_many(job_ids) if job.state is State.DEAD]
    live = [job_id for job_id in job_ids if job_id not in dead]
    report = await cancel_jobs.cancel_ids(store, live, who, grace) if live else Report()
    if dead:
        outcome = await dead_letters.cancel_ids(store, dead, who)
        report.cancelled += outcome.done
        report.refused |= outcome.refused
    return report


def _cancel_live(
    database: str | None, wanted: JobFilter, who: Operator, grace: float, limit: int | None, yes: bool, as_json: bool
) -> None:
    from fairlead.documents.bulk import CancelReport

    total = _agreed_live(database, wanted, limit, "cancel {}?", yes, as_json)
    with progress("cancelling", total, as_json) as advance:
        counts: CancelCounts = on_store(
            database, lambda store: cancel_jobs.cancel_many(store, wanted, who, grace, limit, advance)
        )
    if as_json:
        show_document(CancelReport(cancelled=counts.cancelled, asked=counts.asked))
    else:
        asking = f", and the workers of {counts.asked} running ones asked to end them" if counts.asked else ""
        show(f"{counts.cancelled} jobs cancelled{asking}")


def _cancel_dead(
    database: str | None, wanted: JobFilter, who: Operator, limit: int | None, yes: bool, as_json: bool
) -> None:
    total = agreed_dead(database, wanted, limit, "cancel", yes, as_json)
    with progress("cancelling", total, as_json) as advance:
        done = on_store(database, lambda store: dead_letters.cancel_many(store, wanted, who, limit, advance))
    print_done(done, "cancelled", as_json)


def _print_cancelled(report: Report, as_json: bool) -> None:
    if as_json:
        from fairlead.documents.dead_letters import RefusedDocument

        refused = [item.as_json() for item in RefusedDocument.all_of(report.refused)]
        show_document({"cancelled": report.cancelled, "asked": report.asked, "refused": refused})
    for job_id in () if as_json else report.cancelled:
        show(job_id, state_cell(State.CANCELLED), wrap=False)
    for job_id in () if as_json else report.asked:
        show(job_id, Text("running, its worker was asked to end it", COLOURS[State.RUNNING]), wrap=False)
    fail_for(report.refused)
