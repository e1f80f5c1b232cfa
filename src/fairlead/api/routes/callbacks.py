"""/v1/callbacks: endpoints that are told how jobs ended, their secrets, and the log of deliveries."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from fairlead.api.caller import Actor, Reader
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint, SecretEndpoint
from fairlead.api.parameters import DeliveryId, EndpointPath, ExpectedVersions, Limit, NumberCursor, OfTenant, tag
from fairlead.api.responses import answers
from fairlead.core.web.callbacks import Endpoint as CallbackEndpoint
from fairlead.documents.base import Action, Name
from fairlead.documents.callbacks import (
    CallbackChange,
    CallbackCreation,
    CallbackDocument,
    CallbackPage,
    DeliveryDocument,
    DeliveryPage,
    SecretDocument,
    SecretRotation,
    SentDocument,
)
from fairlead.operate import callbacks as use_cases

router = APIRouter(prefix="/v1/callbacks", tags=[OPERATORS], route_class=Endpoint)
secrets = APIRouter(prefix="/v1/callbacks", tags=[OPERATORS], route_class=SecretEndpoint)

Whose = Annotated[Name | None, Query(description="Whose endpoint; without it, one that is for all tenants.")]
ListCursor = Annotated[
    str | None, Query(pattern=r"^[A-Za-z0-9_.:@-]{0,200}/[A-Za-z0-9_.-]{1,64}$", description="Where a page ended.")
]


@secrets.post("", operation_id="create_callback", status_code=201, responses=answers(409))
async def create_callback(
    wanted: CallbackCreation, caller: Actor, request: Request, response: Response
) -> SecretDocument:
    """Make an endpoint. Its secret is in this answer and nowhere else."""
    await caller.require_pool(wanted.pool)
    made = await use_cases.add_endpoint(
        caller.store,
        caller.operator(wanted),
        caller.service.settings.egress,
        wanted.name,
        wanted.url,
        caller.tenant_for(wanted.tenant),
        wanted.events,
        wanted.pool,
    )
    response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/callbacks/{wanted.name}"
    return SecretDocument.of(made.endpoint, secret=made.secret)


@router.get("", operation_id="list_callbacks", responses=answers())
async def list_callbacks(
    caller: Reader, tenant: OfTenant = None, limit: Limit = 50, cursor: ListCursor = None
) -> CallbackPage:
    """Endpoints by tenant and name; those for all tenants come first."""
    owner, _, name = (cursor or "").rpartition("/")
    after = None if cursor is None else (owner, name)
    found, last = await use_cases.list_endpoints(caller.store, limit, after, caller.tenant_for(tenant))
    documents = [CallbackDocument.of(endpoint) for endpoint in found]
    return CallbackPage(callbacks=documents, cursor=None if last is None else "/".join(last))


@router.get("/{name}", operation_id="get_callback", responses=answers(404))
async def get_callback(
    name: EndpointPath, caller: Reader, response: Response, tenant: Whose = None
) -> CallbackDocument:
    """One endpoint."""
    return _document(await use_cases.read_endpoint(caller.store, caller.tenant_for(tenant), name), response)


@router.patch("/{name}", operation_id="change_callback", responses=answers(404, 409, 412))
async def change_callback(
    name: EndpointPath,
    wanted: CallbackChange,
    caller: Actor,
    expected: ExpectedVersions,
    response: Response,
    tenant: Whose = None,
) -> CallbackDocument:
    """Change an endpoint, disable or enable it."""
    await caller.require_pool(wanted.pool)
    endpoint = await use_cases.change_endpoint(
        caller.store,
        caller.operator(wanted),
        caller.service.settings.egress,
        caller.tenant_for(tenant),
        name,
        wanted.url,
        wanted.events,
        wanted.pool,
        wanted.enabled,
        expected,
    )
    return _document(endpoint, response)


@router.delete("/{name}", operation_id="remove_callback", status_code=204, responses=answers(404))
async def remove_callback(
    name: EndpointPath, caller: Actor, tenant: Whose = None, wanted: Action | None = None
) -> None:
    """Remove an endpoint and its log; deliveries on their way to it are dropped."""
    operator = caller.operator(wanted)
    await use_cases.remove_endpoint(caller.store, operator, caller.tenant_for(tenant), name)


@secrets.post("/{name}/rotate-secret", operation_id="rotate_callback_secret", responses=answers(404, 409))
async def rotate_secret(
    name: EndpointPath, caller: Actor, tenant: Whose = None, wanted: SecretRotation | None = None
) -> SecretDocument:
    """Make a new secret. It is in this answer and nowhere else; the old one signs too until the overlap is over."""
    wanted = wanted or SecretRotation()
    operator, whose = caller.operator(wanted), caller.tenant_for(tenant)
    made = await use_cases.rotate_secret(caller.store, operator, whose, name, wanted.overlap)
    return SecretDocument.of(made.endpoint, secret=made.secret)


@router.post("/{name}/ping", operation_id="ping_callback", status_code=202, responses=answers(404, 409))
async def ping_callback(
    name: EndpointPath, caller: Actor, tenant: Whose = None, wanted: Action | None = None
) -> SentDocument:
    """Send a ping, which a worker delivers like every callback."""
    operator, usual = caller.operator(wanted), caller.service.settings.default_tenant
    sent = await use_cases.send_ping(caller.store, operator, caller.tenant_for(tenant), name, usual)
    return SentDocument(delivery=sent.job_id, message=sent.message)


@router.get("/{name}/deliveries", operation_id="list_deliveries", responses=answers(404))
async def list_deliveries(
    name: EndpointPath, caller: Reader, tenant: Whose = None, limit: Limit = 50, cursor: NumberCursor = None
) -> DeliveryPage:
    """The last tries to reach an endpoint, newest first."""
    found, more = await use_cases.deliveries(caller.store, caller.tenant_for(tenant), name, limit, cursor)
    return DeliveryPage(deliveries=[DeliveryDocument.of(item) for item in found], cursor=more)


@router.post(
    "/{name}/deliveries/{delivery_id}/redeliver", operation_id="redeliver", status_code=202, responses=answers(404, 409)
)
async def redeliver(
    name: EndpointPath, delivery_id: DeliveryId, caller: Actor, tenant: Whose = None, wanted: Action | None = None
) -> SentDocument:
    """Deliver once more, with the same body and message id."""
    operator, whose = caller.operator(wanted), caller.tenant_for(tenant)
    sent = await use_cases.redeliver(caller.store, operator, whose, name, delivery_id)
    return SentDocument(delivery=sent.job_id, message=sent.message)


def _document(endpoint: CallbackEndpoint, response: Response) -> CallbackDocument:
    tag(response, endpoint.version)
    return CallbackDocument.of(endpoint)
