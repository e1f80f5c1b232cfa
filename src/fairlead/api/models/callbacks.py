"""Callback endpoints over HTTP."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from fairlead.api.models.common import EndpointName, Incoming, Name, Outgoing, Text
from fairlead.core.web.callbacks import LONGEST_OVERLAP, OF_JOBS, OVERLAP, CallbackEvent, Delivered, Endpoint
from fairlead.core.web.egress import LONGEST_URL

Url = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL, pattern=r"^[!-\[\]-~]+$")]
Events = Annotated[
    list[Annotated[str, StringConstraints(pattern=f"^({'|'.join(event.replace('.', '[.]') for event in OF_JOBS)})$")]],
    Field(min_length=1, max_length=len(OF_JOBS), description=f"What it is told: {', '.join(OF_JOBS)}."),
]
Overlap = Annotated[float, Field(strict=True, ge=0, le=LONGEST_OVERLAP, allow_inf_nan=False)]


class CallbackCreation(Incoming):
    """A callback endpoint to make; without a tenant, jobs of all tenants can name it."""

    name: EndpointName
    url: Url
    tenant: Name | None = None
    events: Events | None = None
    pool: Name | None = Field(None, description="The pool whose workers deliver.")
    reason: Text | None = None


class CallbackChange(Incoming):
    """What to change of an endpoint; what is absent or null stays."""

    url: Url | None = None
    events: Events | None = None
    pool: Name | None = None
    enabled: bool | None = None
    reason: Text | None = None


class SecretRotation(Incoming):
    """A new secret is wanted; `overlap` is for how many seconds the old one signs too."""

    overlap: Overlap = OVERLAP
    reason: Text | None = None


class CallbackAction(Incoming):
    """Why, for the audit."""

    reason: Text | None = None


class CallbackDocument(Outgoing):
    """A callback endpoint, without its secrets."""

    name: str
    tenant: str | None = Field(description="Null where jobs of all tenants can name it.")
    url: str
    events: list[CallbackEvent]
    pool: str
    enabled: bool
    why_disabled: str | None
    secrets: int = Field(description="How many secrets it has, ended ones included.")
    created_at: datetime | None


class SecretDocument(CallbackDocument):
    """An endpoint and its newest secret, which is in this answer and in no other."""

    secret: str


class CallbackPage(Outgoing):
    """Endpoints by tenant and name; `cursor` continues, and is null at the end."""

    callbacks: list[CallbackDocument]
    cursor: str | None


class DeliveryDocument(Outgoing):
    """One try to reach an endpoint."""

    id: int
    delivery: str = Field(description="The id of the delivery's own job.")
    job: str | None = Field(description="The job that it tells of; null for a ping.")
    message: str = Field(description="The webhook-id that the receiver sees, the same in all tries.")
    event: str
    attempt: int
    status: int | None = Field(description="The status of the answer; null where there was none.")
    took: float
    error: str | None
    at: datetime | None


class DeliveryPage(Outgoing):
    """Tries, newest first; `cursor` continues, and is null at the end."""

    deliveries: list[DeliveryDocument]
    cursor: int | None


class SentDocument(Outgoing):
    """A delivery that was submitted."""

    delivery: str
    message: str


def callback_fields(endpoint: Endpoint) -> dict[str, Any]:
    """The fields of an endpoint's document."""
    return {
        "name": endpoint.name,
        "tenant": endpoint.tenant,
        "url": endpoint.url,
        "events": list(endpoint.events),
        "pool": endpoint.pool,
        "enabled": endpoint.enabled,
        "why_disabled": endpoint.why_disabled,
        "secrets": len(endpoint.secrets),
        "created_at": endpoint.created_at,
    }


def delivery_fields(tried: Delivered) -> dict[str, Any]:
    """The fields of a try's document."""
    return {
        "id": tried.id,
        "delivery": tried.delivery,
        "job": tried.job_id,
        "message": tried.message,
        "event": tried.event,
        "attempt": tried.attempt,
        "status": tried.status,
        "took": tried.took,
        "error": tried.error,
        "at": tried.at,
    }
