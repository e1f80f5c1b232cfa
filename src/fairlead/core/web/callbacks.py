"""Callbacks (webhooks): endpoints that receive the ends of jobs, and the delivery jobs that call them.

A job with a callback names an endpoint in its stored options. The settlement that ends the job stores a delivery in the
same transaction: a job of a reserved type that any worker runs. So deliveries are durable and retried like every job.
The id of a delivery is derived from job id, state and fence: each end makes one delivery, and the end of a replayed job
makes another. The body is made once, and every try sends the same bytes under the same message id.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from fairlead.core.durations import instant
from fairlead.core.jobs.ids import derived_id
from fairlead.core.jobs.model import Lane, NewJob, Priority
from fairlead.core.jobs.states import State
from fairlead.core.names import check_name
from fairlead.core.protection.limits import marks
from fairlead.errors import ConfigError

OPTION = "callback"
TYPE = "fairlead.callback"
RESERVED = "fairlead."
VERSION = 1
POOL = "short"
EVERYONE = ""  # the owner of an endpoint for all tenants
OVERLAP = 86400.0
LONGEST_OVERLAP = 30 * 86400.0
MOST_SECRETS = 5
MOST_ENDPOINTS = 100
LARGEST_RESULT = 32 * 1024
KEPT_DELIVERIES = 200

_MARK = f'"{OPTION}":'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class CallbackEvent(StrEnum):
    """The event in a callback."""

    SUCCEEDED = "job.succeeded"
    DEAD = "job.dead"
    CANCELLED = "job.cancelled"
    EXPIRED = "job.expired"
    PING = "ping"

    __hash__ = str.__hash__


OF_JOBS = (CallbackEvent.SUCCEEDED, CallbackEvent.DEAD, CallbackEvent.CANCELLED, CallbackEvent.EXPIRED)


class Secret(NamedTuple):
    """A signing secret of an endpoint, and when it expires if a newer one has replaced it."""

    text: str
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A callback endpoint. `owner` is a tenant or EVERYONE; each change raises `version`."""

    owner: str
    name: str
    url: str
    events: tuple[CallbackEvent, ...]
    pool: str
    secrets: tuple[Secret, ...] = field(repr=False)
    enabled: bool = True
    why_disabled: str | None = None
    version: int = 1
    created_at: datetime | None = None

    @property
    def tenant(self) -> str | None:
        """The tenant that owns the endpoint; None if it is for all tenants."""
        return self.owner or None

    def valid_secrets(self, now: float) -> list[str]:
        """Return the secrets to sign with, newest first."""
        return [secret.text for secret in self.secrets if secret.until is None or secret.until > now]


class Delivered(NamedTuple):
    """One try of a delivery in the log. The store sets `id` and `at`."""

    delivery: str
    job_id: str | None
    message: str
    event: str
    attempt: int
    status: int | None
    took: float
    error: str | None
    id: int = 0
    at: datetime | None = None


class EndedJob(NamedTuple):
    """The stored fields of a job that has just ended."""

    id: str
    lane: Lane
    state: State
    attempt: int
    fence: int
    created_at: float
    started_at: float | None
    finished_at: float
    key: str | None
    result: str | None
    error_type: str | None
    error_message: str | None
    options: str


def wants_callback(options: str | None) -> bool:
    """Whether stored options may name an endpoint; a cheap test without false negatives."""
    return options is not None and _MARK in options


def endpoint_named(options: str) -> str | None:
    """Return the name of the endpoint in a job's stored options, or None."""
    name = json.loads(options).get(OPTION)
    return name if isinstance(name, str) else None


def check_endpoint_name(name: str) -> str:
    """Return the name of an endpoint if it is valid, else ConfigError."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r:.100} cannot be the name of a callback endpoint: use 1 to 64 letters, digits and _ . -, "
            "beginning with a letter or digit"
        )
    return name


def check_type_name(name: str) -> str:
    """Return the name of a job type if users may declare it, else ConfigError."""
    if check_name("job type", name).startswith(RESERVED):
        raise ConfigError(f"{name!r} cannot be declared: names that begin with {RESERVED} are Fairlead's own")
    return name


def parse_events(words: Iterable[str] | None) -> tuple[CallbackEvent, ...]:
    """Return the events of an endpoint in a fixed order; all events if none are given."""
    given = list(words or OF_JOBS)
    known = ", ".join(OF_JOBS)
    for word in given:
        if word not in OF_JOBS:
            raise ConfigError(f"{word!r:.100} is not an event of a job; it must be one of {known}")
    return tuple(event for event in OF_JOBS if event in given)


def nearest(endpoints: Sequence[Endpoint], tenant: str, name: str) -> Endpoint | None:
    """Return the tenant's endpoint with this name, or else the one for all tenants, or None."""
    found = {endpoint.owner: endpoint for endpoint in endpoints if endpoint.name == name}
    return found.get(tenant) or found.get(EVERYONE)


def rotated(endpoint: Endpoint, secret: str, overlap: float, now: float) -> Endpoint:
    """Return the endpoint with a new secret; older secrets expire after the overlap, or earlier if already set."""
    if not 0 <= overlap <= LONGEST_OVERLAP:
        raise ConfigError(f"the overlap is {overlap:g} s; it must be from 0 to {LONGEST_OVERLAP:g} s")
    until = now + overlap
    older = [Secret(item.text, until if item.until is None else min(item.until, until)) for item in endpoint.secrets]
    kept = [item for item in older if item.until is not None and item.until > now]
    return replace(endpoint, secrets=(Secret(secret), *kept)[:MOST_SECRETS], version=endpoint.version + 1)


def delivery(ended: EndedJob, endpoint: Endpoint | None) -> NewJob | None:
    """Return the delivery job for a job's end, or None if the endpoint does not want this event."""
    event = CallbackEvent(f"job.{ended.state.value}")
    if endpoint is None or not endpoint.enabled or event not in endpoint.events:
        return None
    data = _data(ended)
    body = event_body(event, ended.finished_at, data, "null" if data["result_omitted"] else ended.result or "null")
    job_id = derived_id(ended.id, f"{OPTION}:{ended.state.value}:{ended.fence}")
    return delivery_job(endpoint, job_id, ended.lane.tenant, event, body, ended.id)


def delivery_job(
    endpoint: Endpoint,
    job_id: str,
    tenant: str,
    event: CallbackEvent,
    body: str,
    about: str | None = None,
    message: str | None = None,
) -> NewJob:
    """Return a delivery job, charged to the tenant; a repeated delivery passes the message id of the first."""
    payload = {
        "endpoint": endpoint.name,
        "owner": endpoint.owner,
        "event": event.value,
        "message": message or f"msg_{job_id}",
        "about": about,
        "body": body,
    }
    return NewJob(job_id, delivery_lane(endpoint, tenant), json.dumps(payload), parent=about)


def delivery_lane(endpoint: Endpoint, tenant: str) -> Lane:
    """Return the lane of a tenant's deliveries to one endpoint; its own lane allows a limit for each endpoint."""
    mark = marks([(TYPE, f"{endpoint.owner}:{endpoint.name}")], ())
    return Lane(endpoint.pool, tenant, TYPE, Priority.DEFAULT, VERSION, mark)


def event_body(event: CallbackEvent, moment: float, data: dict[str, Any], result: str | None = None) -> str:
    """Return the JSON body of a callback: type, timestamp and data. A result is inserted as stored, unparsed."""
    told = json.dumps(data, separators=(",", ":"))
    if result is not None:
        told = f'{told[:-1]},"result":{result}}}'
    return f'{{"type":"{event.value}","timestamp":"{_text(moment)}","data":{told}}}'


def _data(ended: EndedJob) -> dict[str, Any]:
    has_error = ended.error_type is not None
    return {
        "id": ended.id,
        "type": ended.lane.type,
        "tenant": ended.lane.tenant,
        "state": ended.state.value,
        "attempt": ended.attempt,
        "idempotency_key": ended.key,
        "created_at": _text(ended.created_at),
        "started_at": _text(ended.started_at),
        "finished_at": _text(ended.finished_at),
        "error": {"type": ended.error_type, "message": ended.error_message} if has_error else None,
        "result_omitted": _is_omitted(ended),
    }


def _is_omitted(ended: EndedJob) -> bool:
    """Whether the job has a result that is too large to send, or had one that could not be kept."""
    if ended.result is None:
        return ended.state is State.SUCCEEDED and ended.error_type is not None
    return len(ended.result) > LARGEST_RESULT


def _text(moment: float | None) -> str | None:
    found = instant(moment)
    return None if found is None else found.isoformat()


class Reply(StrEnum):
    """What the receiver's HTTP status means for a delivery."""

    TAKEN = "taken"
    LATER = "later"  # try again
    NEVER = "never"  # trying again cannot help
    GONE = "gone"  # the endpoint is gone: send nothing else to it

    __hash__ = str.__hash__


_WORTH_RETRYING = frozenset({408, 409, 425, 429})


def reply_of_status(status: int) -> Reply:
    """Return the meaning of an HTTP status; redirects are not followed and count as a refusal."""
    if 200 <= status < 300:
        return Reply.TAKEN
    if status == 410:
        return Reply.GONE
    return Reply.LATER if status in _WORTH_RETRYING or status >= 500 else Reply.NEVER


def audit_target(endpoint: Endpoint) -> str:
    """Return how the audit names an endpoint."""
    return f"callback {endpoint.owner or '*'}/{endpoint.name}"
