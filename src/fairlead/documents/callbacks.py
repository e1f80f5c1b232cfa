"""Callback endpoints: their document, the tries to reach them, and the bodies that make and change them."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints

from fairlead.core.web.callbacks import LONGEST_OVERLAP, OF_JOBS, OVERLAP, CallbackEvent, Endpoint
from fairlead.core.web.egress import LONGEST_URL
from fairlead.documents.base import Body, Document, EndpointName, Name, Text

Url = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL, pattern=r"^[!-\[\]-~]+$")]
Events = Annotated[
    list[Annotated[str, StringConstraints(pattern=f"^({'|'.join(event.replace('.', '[.]') for event in OF_JOBS)})$")]],
    Field(min_length=1, max_length=len(OF_JOBS), description=f"What it is told: {', '.join(OF_JOBS)}."),
]
Overlap = Annotated[float, Field(strict=True, ge=0, le=LONGEST_OVERLAP, allow_inf_nan=False)]


class CallbackCreation(Body):
    """A callback endpoint to make; without a tenant, jobs of all tenants can name it."""

    name: EndpointName
    url: Url
    tenant: Name | None = None
    events: Events | None = None
    pool: Name | None = Field(None, description="The pool whose workers deliver.")
    reason: Text | None = None


class CallbackChange(Body):
    """What to change of an endpoint; a field that is absent or null stays."""

    url: Url | None = None
    events: Events | None = None
    pool: Name | None = None
    enabled: bool | None = None
    reason: Text | None = None


class SecretRotation(Body):
    """A new secret is wanted; `overlap` is for how many seconds the old one signs too."""

    overlap: Overlap = OVERLAP
    reason: Text | None = None


class CallbackDocument(Document):
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
    version: int

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of an endpoint."""
        assert isinstance(record, Endpoint)
        return super().of(record, events=list(record.events), secrets=len(record.secrets), **fields)


class SecretDocument(CallbackDocument):
    """An endpoint and its newest secret, which is in this answer and in no other."""

    secret: str


class CallbackPage(Document):
    """Endpoints by tenant and name; `cursor` continues, and is null at the end."""

    callbacks: list[CallbackDocument]
    cursor: str | None


class DeliveryDocument(Document):
    """One try to reach an endpoint."""

    id: int
    delivery: str = Field(description="The id of the delivery's own job.")
    job_id: str | None = Field(description="The job that it tells of; null for a ping.")
    message: str = Field(description="The webhook-id that the receiver sees, the same in all tries.")
    event: str
    attempt: int
    status: int | None = Field(description="The status of the answer; null where there was none.")
    took: float
    error: str | None
    at: datetime | None


class DeliveryPage(Document):
    """Tries, newest first; `cursor` continues, and is null at the end."""

    deliveries: list[DeliveryDocument]
    cursor: int | None


class SentDocument(Document):
    """A delivery that was submitted."""

    delivery: str
    message: str
