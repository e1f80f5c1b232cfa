"""What follows when a job was not started in time: the job that its submitter named for that case.

The name travels with the expired job, in its stored options, so that whoever expires it knows what follows without the
application's code. The id of the following job is made from that of the expired one: there can be only one.
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
    """A job that has not started, so many seconds after its not_after."""

    job: Held
    late_by: float


class ExpiredJob(NamedTuple):
    """An expired job as it is stored."""

    id: str
    lane: Lane
    run_at: float
    not_after: float
    expired_at: float
    options: str


def expiry_error(late_by: float) -> ErrorInfo:
    """Why a job expired."""
    return ErrorInfo(
        "Expired", f"it had not started when its not_after had passed by {humanize(late_by)}", failure=None
    )


def follow_up(expired: ExpiredJob) -> NewJob | None:
    """The job that tells the submitter, if one was named."""
    target = json.loads(expired.options).get(OPTION)
    if target is None:
        return None
    payload = {name: value for name, value in facts(expired).items() if name in target["takes"]}
    limits = declared_marks(target.get("limits", ()), target.get("needs", ()), payload)
    lane = Lane(target["pool"], expired.lane.tenant, target["type"], Priority.DEFAULT, target["version"], limits)
    return NewJob(derived_id(expired.id, OPTION), lane, json.dumps(payload))


def facts(expired: ExpiredJob) -> dict[str, Any]:
    """What can be told about an expired job, as the following job's arguments."""
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
    """What is stored with a job about the one that follows if it expires."""
    known = {"type": type_name, "version": version, "pool": pool, "takes": list(takes)}
    limited = {"limits": [{"name": limit["name"], "key": limit["key"]} for limit in limits], "needs": list(needs)}
    return known | {name: value for name, value in limited.items() if value}


def _text(moment: float) -> str:
    found = instant(moment)
    assert found
    return found.isoformat()
