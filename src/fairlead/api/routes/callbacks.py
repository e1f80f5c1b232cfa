"""/v1/callbacks: endpoints that are told how jobs ended, their secrets, and what was sent to them."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Actor, Reader
from fairlead.api.endpoint import Endpoint, SecretEndpoint
from fairlead.api.models.callbacks import (
    CallbackAction,
    CallbackChange,
    CallbackCreation,
    CallbackDocument,
    CallbackPage,
    DeliveryDocument,
    DeliveryPage,
    SecretDocument,
    SecretRotation,
    SentDocument,
    callback_fields,
    delivery_fields,
)
from fairlead.api.models.common import ENDPOINT_PATTERN, Limit, Name, ReasonQuery
from fairlead.operate import callbacks as use_cases

router = APIRouter(prefix="/v1/callbacks", tags=["callbacks"], route_class=Endpoint)
secrets = APIRouter(prefix="/v1/callbacks", tags=["callbacks"], route_class=SecretEndpoint)

EndpointPath = Annotated[str, Path(pattern=ENDPOINT_PATTERN, description="The name of an endpoint.")]
DeliveryId = Annotated[str, Path(description="The id of a delivery's job.", max_length=100)]
Whose = Annotated[Name | None, Query(description="Whose endpoint; without it, one that is for all tenants.")]
ListCursor = Annotated[
    str | None, Query(pattern=r"^[A-Za-z0-9_.:@/-]{0,200}/[A-Za-z0-9_.-]{1,64}$", description="Where a page ended.")
]
LogCursor = Annotated[int | None, Query(ge=1, le=2**62, description="Go on where a page ended.")]


@secrets.post("", status_code=201, responses=answers(409))
async def make_callback(wanted: CallbackCreation, caller: Actor) -> SecretDocument:
    """Make an endpoint. Its secret is in this answer and nowhere else."""
    made = await use_cases.add_endpoint(
        caller.store,
        caller.operator(wanted.reason),
        caller.service.settings.egress,
        wanted.name,
        wanted.url,
        caller.tenant_for(wanted.tenant),
        wanted.events,
        wanted.pool,
    )
    return SecretDocument(**callback_fields(made.endpoint), secret=made.secret)


@router.get("", responses=answers())
async def list_callbacks(
    caller: Reader, tenant: Annotated[Name | None, Query()] = None, limit: Limit = 50, cursor: ListCursor = None
) -> CallbackPage:
    """Endpoints by tenant and name; those for all tenants come first."""
    owner, _, name = (cursor or "").rpartition("/")
    after = None if cursor is None else (owner, name)
    found, last = await use_cases.list_endpoints(caller.store, limit, after, caller.tenant_for(tenant))
    documents = [CallbackDocument(**callback_fields(endpoint)) for endpoint in found]
    return CallbackPage(callbacks=documents, cursor=None if last is None else "/".join(last))


@router.get("/{name}", responses=answers(404))
async def read_callback(name: EndpointPath, caller: Reader, tenant: Whose = None) -> CallbackDocument:
    """One endpoint."""
    endpoint = await use_cases.read_endpoint(caller.store, caller.tenant_for(tenant), name)
    return CallbackDocument(**callback_fields(endpoint))


@router.patch("/{name}", responses=answers(404, 409))
async def change_callback(
    name: EndpointPath, wanted: CallbackChange, caller: Actor, tenant: Whose = None
) -> CallbackDocument:
    """Change an endpoint, disable or enable it."""
    endpoint = await use_cases.change_endpoint(
        caller.store,
        caller.operator(wanted.reason),
        caller.service.settings.egress,
        caller.tenant_for(tenant),
        name,
        wanted.url,
        wanted.events,
        wanted.pool,
        wanted.enabled,
    )
    return CallbackDocument(**callback_fields(endpoint))


@router.delete("/{name}", status_code=204, responses=answers(404))
async def remove_callback(name: EndpointPath, caller: Actor, tenant: Whose = None, reason: ReasonQuery = None) -> None:
    """Remove an endpoint and its log; what is on its way to it is dropped."""
    await use_cases.remove_endpoint(caller.store, caller.operator(reason), caller.tenant_for(tenant), name)


@secrets.post("/{name}/rotate", responses=answers(404, 409))
async def rotate_secret(
    name: EndpointPath, wanted: SecretRotation, caller: Actor, tenant: Whose = None
) -> SecretDocument:
    """Make a new secret. It is in this answer and nowhere else; the old one signs too until the overlap is over."""
    operator, whose = caller.operator(wanted.reason), caller.tenant_for(tenant)
    made = await use_cases.rotate_secret(caller.store, operator, whose, name, wanted.overlap)
    return SecretDocument(**callback_fields(made.endpoint), secret=made.secret)


@router.post("/{name}/test", status_code=202, responses=answers(404, 409))
async def ping_callback(
    name: EndpointPath, wanted: CallbackAction, caller: Actor, tenant: Whose = None
) -> SentDocument:
    """Send a ping, which a worker delivers like every callback."""
    operator, usual = caller.operator(wanted.reason), caller.service.settings.default_tenant
    sent = await use_cases.send_ping(caller.store, operator, caller.tenant_for(tenant), name, usual)
    return SentDocument(delivery=sent.job_id, message=sent.message)


@router.get("/{name}/deliveries", responses=answers(404))
async def list_deliveries(
    name: EndpointPath, caller: Reader, tenant: Whose = None, limit: Limit = 50, cursor: LogCursor = None
) -> DeliveryPage:
    """The last tries to reach an endpoint, newest first."""
    found, more = await use_cases.deliveries(caller.store, caller.tenant_for(tenant), name, limit, cursor)
    return DeliveryPage(deliveries=[DeliveryDocument(**delivery_fields(item)) for item in found], cursor=more)


@router.post("/{name}/deliveries/{delivery_id}/redeliver", status_code=202, responses=answers(404, 409))
async def redeliver(
    name: EndpointPath, delivery_id: DeliveryId, wanted: CallbackAction, caller: Actor, tenant: Whose = None
) -> SentDocument:
    """Deliver once more, with the same body and message id."""
    operator, whose = caller.operator(wanted.reason), caller.tenant_for(tenant)
    sent = await use_cases.redeliver(caller.store, operator, whose, name, delivery_id)
    return SentDocument(delivery=sent.job_id, message=sent.message)
