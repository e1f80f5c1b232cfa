"""From what the HTTP API says to what the in-process client gives: the same records, the same errors."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from pydantic_core import from_json, to_json

from fairlead import errors
from fairlead.client.job import Fate
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord, Page
from fairlead.core.jobs.model import Ending, ErrorInfo, Lane, Priority
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State

Document = Mapping[str, Any]


def job_of(document: Document) -> JobRecord:
    """A job."""
    return JobRecord(
        id=document["id"],
        type=document["type"],
        tenant=document["tenant"],
        pool=document["pool"],
        priority=Priority.parse(document["priority"]),
        version=document["version"],
        state=State(document["state"]),
        payload=_text(document["payload"]) or "null",
        attempt=document["attempt"],
        crashes=document["crashes"],
        fence=document["fence"],
        created_at=datetime.fromisoformat(document["created_at"]),
        run_at=datetime.fromisoformat(document["run_at"]),
        not_after=_instant(document["not_after"]),
        started_at=_instant(document["started_at"]),
        finished_at=_instant(document["finished_at"]),
        worker=document["worker"],
        result=_text(document["result"]),
        error=_error(document["error"]),
        key=document["idempotency_key"],
        options=None,
        parent=document["parent"],
        replays=document["replays"],
        progress=_progress(document.get("progress")),
    )


def attempt_of(document: Document) -> AttemptRecord:
    """A run that did not end its job well."""
    return AttemptRecord(
        fence=document["fence"],
        attempt=document["attempt"],
        worker=document["worker"],
        started_at=_instant(document["started_at"]),
        ended_at=datetime.fromisoformat(document["ended_at"]),
        ending=Ending(document["ending"]),
        error=_error(document["error"]),
        due_at=_instant(document["due_at"]),
        ready_at=_instant(document["ready_at"]),
    )


def moment_of(document: Document) -> Moment:
    """Something that happened to a job."""
    return Moment(
        at=datetime.fromisoformat(document["at"]),
        what=document["what"],
        state=State(document["state"]) if document["state"] else None,
        attempt=document["attempt"],
        worker=document["worker"],
        took=document["took"],
        by=document["by"],
        note=document["note"],
        error=_error(document["error"]),
    )


def page_of(document: Document) -> Page:
    """A page of jobs."""
    return Page(tuple(job_of(job) for job in document["jobs"]), document["cursor"])


def group_of(document: Document) -> DeadGroup:
    """A group of dead jobs."""
    instants = {name: datetime.fromisoformat(document[name]) for name in ("first_at", "last_at")}
    return DeadGroup(**{**{field.name: document[field.name] for field in fields(DeadGroup)}, **instants})


def submitted_of(document: Document) -> tuple[Lane, str, Fate]:
    """What became of a submission, as a job in hand needs it."""
    priority = Priority.parse(document["priority"])
    lane = Lane(document["pool"], document["tenant"], document["type"], priority, 0)
    return lane, document["id"], Fate(document["duplicate"], document["shed"], document["deferred"])


def error_of(status: int, body: bytes, retry_after: str | None = None) -> errors.FairleadError:
    """The error that an answer means: the one that the in-process client would raise, where there is one."""
    try:
        problem = from_json(body)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        code, detail = "UNKNOWN", f"the server answered {status} with {body[:200]!r}"
    wait = float(retry_after) if retry_after and retry_after.isdigit() else None
    return problem_error(status, code, detail, wait)


def problem_error(status: int, code: str, detail: str, retry_after: float | None = None) -> errors.FairleadError:
    """The error with this code; `retry_after` is worth waiting before another try."""
    known = _CLASSES.get(code)
    if known is None:
        refused = (errors.AccessDenied if status in (401, 403) else errors.RequestRefused)(detail)
        refused.code, refused.status = code, status
        return refused
    error = known.__new__(known, detail)  # without what its own constructor would derive from more than the message
    if retry_after is not None:
        vars(error)["retry_after"] = retry_after
    return error


_CLASSES: dict[str, type[errors.FairleadError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.FairleadError) and not issubclass(kind, errors.Verdict)
}


def _error(document: Document | None) -> ErrorInfo | None:
    if document is None:
        return None
    failure = FailureClass(document["failure"]) if document["failure"] else None
    return ErrorInfo(
        document["type"], document["message"], document["traceback"], failure, fingerprint=document["fingerprint"]
    )


def _progress(document: Document | None) -> Progress | None:
    if document is None:
        return None
    at = datetime.fromisoformat(document["at"])
    return Progress(document["done"], document["total"], document["message"], at)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _text(value: Any) -> str | None:
    return None if value is None else to_json(value).decode()
