"""What a tenant's key is not shown: who of the operators acted, and why."""

from typing import TypeVar

from fairlead.api.caller import Caller
from fairlead.core.jobs.cancel import CANCELLED
from fairlead.documents.jobs import ErrorDocument, ExplanationDocument, JobDetail, JobDocument, MomentDocument

AnyJob = TypeVar("AnyJob", bound=JobDocument)
OPERATOR = "an operator"
CLOSED = "CLOSED"


def job_for(caller: Caller, job: AnyJob) -> AnyJob:
    """The job as the caller may see it."""
    if caller.tenant is None:
        return job
    changes: dict[str, object] = {"error": _error(job.error)}
    if isinstance(job, JobDetail):
        changes["attempts"] = [item.model_copy(update={"error": _error(item.error)}) for item in job.attempts]
        changes["timeline"] = [_moment(caller, item) for item in job.timeline]
    return job.model_copy(update=changes)


def explanation_for(caller: Caller, found: ExplanationDocument) -> ExplanationDocument:
    """The explanation as the caller may see it: without the reason of a pause, quarantine or opened breaker."""
    if caller.tenant is None:
        return found
    reasons = [
        item.model_copy(update={"words": item.words.partition(": ")[0]}) if item.code == CLOSED else item
        for item in found.reasons
    ]
    return found.model_copy(update={"reasons": reasons, "summary": "; ".join(item.words for item in reasons)})


def _moment(caller: Caller, moment: MomentDocument) -> MomentDocument:
    is_own = moment.by is None or moment.by.startswith(f"key {caller.key.id} ")
    hidden = {} if is_own else {"by": OPERATOR, "note": None}
    return moment.model_copy(update={**hidden, "error": _error(moment.error)})


def _error(error: ErrorDocument | None) -> ErrorDocument | None:
    """A cancellation's message has the name and the reason of whoever cancelled."""
    if error is None or error.type != CANCELLED:
        return error
    return error.model_copy(update={"message": "cancelled"})
