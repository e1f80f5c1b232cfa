"""Expired jobs, and the follow-up job that a submitter can name for a job that does not start before its not_after.

The follow-up is named in the stored options of the job, so the process that expires it does not need the application's
code. The id of the follow-up is derived from the id of the expired job, so each expired job has at most one.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.core.durations import humanize, instant
from fairlead.core.jobs.ids import derived_id
from fairlead.core.jobs.model import ErrorInfo, Held, Lane, NewJob, Priority
from fairlead.core.protection.limits import declared_marks

OPTION = "on_late"
FACTS = ("job_id", "type", "tenant", "run_at", "not_after", "late_by")


class LateJob(NamedTuple):
    """A job that has not started, `late_by` seconds after its not_after."""

    job: Held
    late_by: float


class ExpiredJob(NamedTuple):
    """The stored fields of an expired job that a follow-up needs."""

    id: str
    lane: Lane
    run_at: float
    not_after: float
    expired_at: float
    options: str


def expiry_error(late_by: float) -> ErrorInfo:
    """Return the error of an expired job."""
    return ErrorInfo(
        "Expired", f"it had not started when its not_after had passed by {humanize(late_by)}", failure=None
    )


def follow_up(expired: ExpiredJob) -> NewJob | None:
    """Return the follow-up job, or None if the submitter named none."""
    target = json.loads(expired.options).get(OPTION)
    if target is None:
        return None
    payload = {name: value for name, value in facts(expired).items() if name in target["takes"]}
    limits = declared_marks(target.get("limits", ()), target.get("needs", ()), payload)
    lane = Lane(target["pool"], expired.lane.tenant, target["type"], Priority.DEFAULT, target["version"], limits)
    return NewJob(derived_id(expired.id, OPTION), lane, json.dumps(payload))


def facts(expired: ExpiredJob) -> dict[str, Any]:
    """Return the facts about an expired job that a follow-up can take as arguments."""
    return {
        "job_id": expired.id,
        "type": expired.lane.type,
        "tenant": expired.lane.tenant,
        "run_at": _text(expired.run_at),
        "not_after": _text(expired.not_after),
        "late_by": round(expired.expired_at - expired.not_after, 3),
    }


def target(
    type_name: str,
    version: int,
    pool: str,
    takes: Sequence[str],
    limits: Sequence[Mapping[str, Any]] = (),
    needs: Sequence[str] = (),
) -> Mapping[str, Any]:
    """Return the follow-up's type, version, pool and arguments as stored in a job's options."""
    known = {"type": type_name, "version": version, "pool": pool, "takes": list(takes)}
    limited = {"limits": [{"name": limit["name"], "key": limit["key"]} for limit in limits], "needs": list(needs)}
    return known | {name: value for name, value in limited.items() if value}


def _text(moment: float) -> str:
    found = instant(moment)
    assert found
    return found.isoformat()
