"""What `fairlead dlq` prints."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from fairlead.cli.audit import entry_document, print_entries
from fairlead.cli.jobs import print_job, short, whole_document
from fairlead.cli.output import (
    cell,
    job_document,
    json_moment,
    moment,
    show,
    show_json,
    state_cell,
    table,
)
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.job_records import Page
from fairlead.core.jobs.states import State
from fairlead.errors import IllegalMove, JobError
from fairlead.operate.dead_letters import DeadLetter, Outcome
from fairlead.operate.staged_replay import Report

MOST_NAMED = 5
STATES = {"replayed": State.READY, "cancelled": State.CANCELLED}


def page(found: Page, as_json: bool) -> None:
    """A page of dead letters."""
    if as_json:
        show_json({"jobs": [job_document(job) for job in found.jobs], "cursor": found.cursor})
        return
    if not found.jobs:
        show("no dead letters")
        return
    listing = table(id=True, type=False, tenant=False, died=True, replays=True, fingerprint=True, error=False)
    for job in found.jobs:
        mark = job.error.fingerprint if job.error else None
        columns = (job.id, job.type, job.tenant, moment(job.finished_at), job.replays, mark, short(job.error))
        listing.add_row(*map(cell, columns))
    show(listing)
    if found.cursor:
        show(Text(f"more: repeat the command with --cursor {found.cursor}", "dim"), wrap=False)


def groups(found: Sequence[DeadGroup], as_json: bool) -> None:
    """What dead letters died of."""
    if as_json:
        show_json({"groups": [_group_document(group) for group in found]})
        return
    if not found:
        show("no dead letters")
        return
    listing = table(fingerprint=True, jobs=True, tenants=True, type=False, first=True, last=True, error=False)
    for group in found:
        error = f"{group.error_type}: {group.message}"
        times = moment(group.first_at), moment(group.last_at)
        listing.add_row(*map(cell, (group.fingerprint, group.count, group.tenants, group.type, *times, error)))
    show(listing)


def letter(found: DeadLetter, as_json: bool) -> None:
    """One job with all its context."""
    if as_json:
        show_json({**whole_document(found), "audit": [entry_document(entry) for entry in found.audit]})
        return
    print_job(found)
    if found.audit:
        show(Text("\naudit", "bold"))
        print_entries(found.audit)


def edited(job_id: str, replayed: bool, as_json: bool) -> None:
    """A job whose payload was replaced."""
    state = State.READY if replayed else State.DEAD
    if as_json:
        show_json({"id": job_id, "state": state.value, "replayed": replayed})
    else:
        show(job_id, state_cell(state), "with the new payload", wrap=False)


def outcome(what: str, result: Outcome, as_json: bool) -> None:
    """What became of an action on many jobs; an error at the end if some were refused."""
    if as_json:
        show_json({what: list(result.done), "refused": refused_documents(result.refused)})
    elif len(result.done) <= MOST_NAMED:
        for job_id in result.done:
            show(job_id, state_cell(STATES[what]), wrap=False)
    if not as_json and len(result.done) != 1:
        show(f"{len(result.done)} dead letters {what}")
    fail_for(result.refused)


def report(result: Report, as_json: bool) -> None:
    """What a replay in stages did."""
    if as_json:
        stages = [asdict(stage) for stage in result.stages]
        refused = refused_documents(result.refused)
        show_json({"stages": stages, "replayed": result.revived, "refused": refused, "stopped": result.stopped})
        return
    if result.stages:
        listing = table(
            stage=True, replayed=True, succeeded=True, failed_again=True, failed_otherwise=True, unfinished=True,
            refused=True,
        )  # fmt: skip
        for stage in result.stages:
            columns = (
                stage.number, stage.revived, stage.succeeded, stage.failed_again, stage.failed_otherwise,
                stage.unfinished, stage.refused,
            )  # fmt: skip
            listing.add_row(*map(cell, columns))
        show(listing)
    show(f"{result.revived} dead letters replayed")


def purged(count: int, dry_run: bool, as_json: bool) -> None:
    """How many were removed, or would be."""
    if as_json:
        show_json(_purged_document(count, dry_run))
    else:
        show(f"{count} dead letters {'would be ' if dry_run else ''}purged")


def purged_ids(result: Outcome, dry_run: bool, as_json: bool) -> None:
    """Which of those that were named were removed, or would be; an error at the end if some were refused."""
    if as_json:
        refused = refused_documents(result.refused)
        show_json({**_purged_document(len(result.done), dry_run), "ids": list(result.done), "refused": refused})
    else:
        purged(len(result.done), dry_run, as_json)
    fail_for(result.refused)


def fail_for(refused: Mapping[str, JobError]) -> None:
    """One error for all that was refused; a move that is not allowed weighs more than a job that is not there."""
    errors = list(refused.values())
    if not errors:
        return
    worst = next((error for error in errors if isinstance(error, IllegalMove)), errors[0])
    named = "; ".join(map(str, errors[:MOST_NAMED]))
    more = len(errors) - MOST_NAMED
    raise type(worst)(f"{named}; and {more} more" if more > 0 else named)


def _purged_document(count: int, dry_run: bool) -> dict[str, Any]:
    return {"purged": 0, "would_purge": count} if dry_run else {"purged": count}


def _group_document(group: DeadGroup) -> dict[str, Any]:
    return {
        "fingerprint": group.fingerprint,
        "type": group.type,
        "error": {"type": group.error_type, "message": group.message},
        "sample": group.sample,
        "count": group.count,
        "tenants": group.tenants,
        "first_at": json_moment(group.first_at),
        "last_at": json_moment(group.last_at),
    }


def refused_documents(refused: Mapping[str, JobError]) -> list[dict[str, str]]:
    """What was refused, in JSON."""
    return [{"id": job_id, "code": error.code, "message": str(error)} for job_id, error in refused.items()]
