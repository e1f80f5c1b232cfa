"""Callback endpoints: making, changing and removing them, their secrets, and what was sent to them."""

import secrets
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_core import from_json

from fairlead.core.jobs.ids import is_id, make_ids
from fairlead.core.jobs.model import NewJob
from fairlead.core.names import check_name
from fairlead.core.web.callbacks import (
    EVERYONE,
    MOST_ENDPOINTS,
    OVERLAP,
    POOL,
    TYPE,
    CallbackEvent,
    Delivered,
    Endpoint,
    Secret,
    audit_target,
    check_endpoint_name,
    delivery_job,
    event_body,
    parse_events,
    rotated,
)
from fairlead.core.web.egress import EgressRules, target_of
from fairlead.core.web.signatures import SECRET_BYTES, secret_of
from fairlead.errors import CallbackNotFound, CallbackRefused
from fairlead.insight.protection import require_room
from fairlead.records.store import Store
from fairlead.runtime.control_changes import Expected, require_expected
from fairlead.runtime.operator import Operator

ROUNDS = 5


class MadeSecret(NamedTuple):
    """An endpoint and its newest secret, which is shown this once."""

    endpoint: Endpoint
    secret: str


class Sent(NamedTuple):
    """A delivery that was submitted: its job, and the message id that the receiver will see."""

    job_id: str
    message: str


async def add_endpoint(
    store: Store,
    operator: Operator,
    rules: EgressRules,
    name: str,
    url: str,
    tenant: str | None = None,
    events: Iterable[str] | None = None,
    pool: str | None = None,
) -> MadeSecret:
    """Make an endpoint for jobs of one tenant, or of all; the rules say where callbacks may go."""
    owner = EVERYONE if tenant is None else check_name("tenant", tenant)
    secret = _new_secret()
    target_of(url, rules)
    endpoint = Endpoint(
        owner=owner,
        name=check_endpoint_name(name),
        url=url,
        events=parse_events(events),
        pool=check_name("pool", pool or POOL),
        secrets=(Secret(secret),),
    )
    if len(await store.callbacks.page(MOST_ENDPOINTS, owner=owner)) >= MOST_ENDPOINTS:
        raise CallbackRefused(f"{_whose(tenant)} {MOST_ENDPOINTS} callback endpoints, and may have no more; remove one")
    if not await store.callbacks.add(endpoint, operator.note("add callback", audit_target(endpoint), url=url)):
        raise CallbackRefused(f"there is a callback endpoint {name} already; change it, or choose another name")
    return MadeSecret(await read_endpoint(store, tenant, name), secret)


async def read_endpoint(store: Store, tenant: str | None, name: str) -> Endpoint:
    """One endpoint, of a tenant or for all; CallbackNotFound if there is none."""
    found = await store.callbacks.read([(tenant or EVERYONE, name)])
    if not found:
        raise CallbackNotFound(f"there is no callback endpoint {name}; list them with `fairlead callbacks list`")
    return found[0]


async def list_endpoints(
    store: Store, limit: int, after: tuple[str, str] | None = None, tenant: str | None = None
) -> tuple[list[Endpoint], tuple[str, str] | None]:
    """A page of endpoints, and what continues after them."""
    found = await store.callbacks.page(limit + 1, after, tenant)
    last = found[limit - 1] if len(found) > limit else None
    return found[:limit], None if last is None else (last.owner, last.name)


async def change_endpoint(
    store: Store,
    operator: Operator,
    rules: EgressRules,
    tenant: str | None,
    name: str,
    url: str | None = None,
    events: Iterable[str] | None = None,
    pool: str | None = None,
    enabled: bool | None = None,
    expected: Expected = None,
) -> Endpoint:
    """Change what is given of an endpoint."""
    if url is not None:
        target_of(url, rules)
    wanted = {
        "url": url,
        "events": None if events is None else parse_events(events),
        "pool": None if pool is None else check_name("pool", pool),
        "enabled": enabled,
    }
    changes: dict[str, Any] = {field: value for field, value in wanted.items() if value is not None}
    for _ in range(ROUNDS):
        seen = await read_endpoint(store, tenant, name)
        require_expected(seen.version, expected, f"the callback endpoint {name}")
        changed = replace(seen, **changes, version=seen.version + 1)
        changed = replace(changed, why_disabled=None if changed.enabled else seen.why_disabled)
        note = operator.note("change callback", audit_target(seen), **changes)
        if await store.callbacks.change(changed, seen, note):
            return changed
    raise _overtaken(name)


async def rotate_secret(
    store: Store, operator: Operator, tenant: str | None, name: str, overlap: float = OVERLAP
) -> MadeSecret:
    """Give an endpoint a new secret; callbacks are signed with the old one too until the overlap is over."""
    secret = _new_secret()
    for _ in range(ROUNDS):
        seen = await read_endpoint(store, tenant, name)
        changed = rotated(seen, secret, overlap, await store.now())
        note = operator.note("rotate callback secret", audit_target(seen), overlap=overlap)
        if await store.callbacks.change(changed, seen, note):
            return MadeSecret(changed, secret)
    raise _overtaken(name)


async def remove_endpoint(store: Store, operator: Operator, tenant: str | None, name: str) -> None:
    """Remove an endpoint and its log; what is on its way to it is dropped."""
    endpoint = await read_endpoint(store, tenant, name)
    await store.callbacks.remove(endpoint.owner, name, operator.note("remove callback", audit_target(endpoint)))


async def deliveries(
    store: Store, tenant: str | None, name: str, limit: int, cursor: int | None = None
) -> tuple[list[Delivered], int | None]:
    """A page of the tries to reach an endpoint, newest first, and the cursor that continues."""
    endpoint = await read_endpoint(store, tenant, name)
    found = await store.callbacks.deliveries(endpoint.owner, name, limit + 1, cursor)
    return found[:limit], found[limit - 1].id if len(found) > limit else None


async def send_ping(store: Store, operator: Operator, tenant: str | None, name: str, default_tenant: str) -> Sent:
    """Submit an event that says nothing, to see whether an endpoint can be reached."""
    endpoint = await read_endpoint(store, tenant, name)
    now = await store.now()
    body = event_body(CallbackEvent.PING, now, {"endpoint": name})
    job = delivery_job(endpoint, _new_id(), tenant or default_tenant, CallbackEvent.PING, body)
    return await _send(store, operator, "ping callback", endpoint, job)


async def redeliver(store: Store, operator: Operator, tenant: str | None, name: str, delivery_id: str) -> Sent:
    """Submit a delivery again, with the same body and message id; CallbackNotFound where it is not kept any more."""
    endpoint = await read_endpoint(store, tenant, name)
    record = await store.reader.read(delivery_id) if is_id(delivery_id) else None
    given = from_json(record.payload) if record is not None and record.type == TYPE else {}
    if record is None or (given.get("owner"), given.get("endpoint")) != (endpoint.owner, name):
        raise CallbackNotFound(
            f"there is no delivery {delivery_id[:100]} of {name}; it may have been removed after its retention time"
        )
    event = CallbackEvent(given["event"])
    job = delivery_job(
        endpoint, _new_id(), record.tenant, event, given["body"], given["about"], message=given["message"]
    )
    return await _send(store, operator, "redeliver callback", endpoint, job)


async def _send(store: Store, operator: Operator, action: str, endpoint: Endpoint, job: NewJob) -> Sent:
    if not endpoint.enabled:
        raise CallbackRefused(f"the callback endpoint {endpoint.name} is disabled; enable it first")
    message = str(from_json(job.payload)["message"])
    await require_room(store, job.lane.tenant)
    await store.jobs.enqueue([job], wake={job.lane.pool})
    await store.audit.append(operator.note(action, audit_target(endpoint), message=message), [job.id])
    return Sent(job.id, message)


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))


def _new_id() -> str:
    return make_ids(1, time.time())[0]


def _whose(tenant: str | None) -> str:
    return "there are" if tenant is None else f"the tenant {tenant} has"


def _overtaken(name: str) -> CallbackRefused:
    return CallbackRefused(f"the callback endpoint {name} is being changed by others; try again")
