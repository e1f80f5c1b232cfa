"""Types, workers, figures, pauses, the audit and keys over HTTP."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from fairlead.api.models.common import Incoming, Name, Outgoing, Text
from fairlead.core.insight.audit import AuditEntry
from fairlead.core.insight.diagnosis import Level
from fairlead.core.jobs.failure import FailureClass, Policies
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.pools import TypeTerms
from fairlead.core.jobs.retry import timeline
from fairlead.core.jobs.workers import DRAINING, RESERVE, WorkerRecord, reserved
from fairlead.core.web.api_keys import LEAST_RATE, MOST_NAME, MOST_RATE, ApiKey, Grant
from fairlead.operate.api_keys import LONGEST_LIFE
from fairlead.operate.pauses import Paused

MOST_STEPS = 20
OR_BY_POOL = "Where the type declares nothing, as its pool is set now."
CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
KeyName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MOST_NAME, pattern=rf"^[^\s{CONTROL}]([^{CONTROL}]*[^\s{CONTROL}])?$"),
]


class TypeDocument(Outgoing):
    """A registered job type: its newest version, the schema of its payload, and its settings."""

    name: str
    version: int
    pool: str
    payload_schema: dict[str, Any]
    settings: dict[str, Any] = Field(description="As the code declares them.")
    timeout: float | None = Field(description=f"Seconds after which a run is stopped. {OR_BY_POOL}")
    retries: dict[str, list[float]] = Field(
        description="By class of failure: seconds after which each attempt is expected, if each failed at once. "
        + OR_BY_POOL
    )


class AlertDocument(Outgoing):
    """Something that somebody should know of, and what to do about it; the code stays the same."""

    level: Level
    code: str
    about: str | None = Field(description="The pool, type, breaker or pause; null where it is about the system.")
    sentence: str
    hint: str


class Alerts(Outgoing):
    """The state of the system, and all that is wrong, the worst first."""

    level: Level
    sentence: str
    alerts: list[AlertDocument]


class WorkerDocument(Outgoing):
    """A worker."""

    id: str
    host: str
    pid: int
    pools: list[str]
    types: list[str]
    slots: int
    version: str
    started_at: datetime
    state: str
    live: bool
    lease_left: float
    reserve: list[str] = Field(description="The tenants that it serves; it serves all where there are none.")
    report: dict[str, Any]


class Workers(Outgoing):
    """All registered workers."""

    workers: list[WorkerDocument]


class PoolDocument(Outgoing):
    """One pool at a glance."""

    pool: str
    jobs: dict[str, int]
    oldest_ready: float | None = Field(description="Seconds that the first ready job has waited.")
    workers: int
    slots: int
    running: int


class Stats(Outgoing):
    """Every pool at a glance."""

    pools: list[PoolDocument]


class Samples(Outgoing):
    """What the system looked like, every few seconds."""

    samples: list[dict[str, Any]]


class PauseDocument(Outgoing):
    """A type, tenant or pool of which nothing starts."""

    scope: str
    name: str
    reason: str
    since: datetime


class Pauses(Outgoing):
    """What is paused now."""

    pauses: list[PauseDocument]


class PauseChange(Incoming):
    """What to pause or to let go on, and why."""

    scope: Literal["type", "tenant", "pool"]
    name: Name
    reason: Annotated[Text, Field(min_length=1)]


class AuditDocument(Outgoing):
    """What somebody did."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    details: dict[str, Any]
    hash: str


class AuditPage(Outgoing):
    """Entries, newest first."""

    entries: list[AuditDocument]
    cursor: int | None


class Verification(Outgoing):
    """Whether the audit is as it was written."""

    sound: bool
    entries: int
    flaws: list[dict[str, Any]]


class KeyCreation(Incoming):
    """A key to make. With a tenant it sees and touches only what is that tenant's."""

    name: KeyName
    scopes: Annotated[list[Grant], Field(min_length=1, max_length=4)]
    tenant: Name | None = None
    expires_in: Annotated[float, Field(strict=True, gt=0, le=LONGEST_LIFE)] | None = None
    rate: Annotated[float, Field(strict=True, ge=LEAST_RATE, le=MOST_RATE)] | None = Field(
        None, description="Requests a second that it may send to a server process; null is the server's `api_rate`."
    )
    reason: Text | None = None


class KeyDocument(Outgoing):
    """A key, without anything that opens a door."""

    id: str
    name: str
    scopes: list[str]
    tenant: str | None
    live: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    rate: float | None


class CreatedKeyDocument(KeyDocument):
    """A new key; `key` is shown this once."""

    key: str


class KeyPage(Outgoing):
    """Keys by id."""

    keys: list[KeyDocument]
    cursor: str | None


def type_document(job_type: JobType, terms: TypeTerms) -> TypeDocument:
    """A type as it is shown, with the terms in force for its new jobs."""
    return TypeDocument(
        name=job_type.name,
        version=job_type.version,
        pool=job_type.pool,
        payload_schema=dict(job_type.schema),
        settings=dict(job_type.settings),
        timeout=terms.timeout,
        retries=_retries(terms.policies),
    )


def _retries(policies: Policies) -> dict[str, list[float]]:
    steps = {failure.value: timeline(policies.of(failure))[:MOST_STEPS] for failure in FailureClass}
    return {name: [round(step.expected, 3) for step in found] for name, found in steps.items()}


def worker_document(record: WorkerRecord) -> WorkerDocument:
    """A worker as it is shown."""
    info = record.info
    return WorkerDocument(
        id=info.id,
        host=info.host,
        pid=info.pid,
        pools=list(info.pools),
        types=list(info.types),
        slots=info.slots,
        version=info.version,
        started_at=record.started_at,
        state=record.state if record.live else "lost",
        live=record.live,
        lease_left=round(max(0.0, record.lease_left), 3),
        reserve=list(reserved(record)),
        report={name: value for name, value in record.report.items() if name not in (DRAINING, RESERVE)},
    )


def pause_document(paused: Paused) -> PauseDocument:
    """A pause as it is shown."""
    return PauseDocument(**paused._asdict())


def audit_document(entry: AuditEntry) -> AuditDocument:
    """An entry as it is shown."""
    return AuditDocument(
        id=entry.id,
        at=datetime.fromtimestamp(entry.at, UTC),
        actor=entry.actor,
        action=entry.action,
        target=entry.target,
        details=json.loads(entry.details),
        hash=entry.hash,
    )


def key_fields(key: ApiKey) -> dict[str, Any]:
    """The fields of a key's document."""
    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.grants),
        "tenant": key.tenant,
        "live": key.live,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
        "rate": key.rate,
    }
