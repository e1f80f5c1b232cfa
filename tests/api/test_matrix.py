"""Who may do what: every endpoint with every scope, for one's own tenant, for another's, and for all."""

import contextlib
import itertools
import re
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from fairlead.api.server import needs_of
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.jobs.ids import make_ids
from fairlead.core.protection.backpressure import Overload
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.schedule.schedules import ScheduleSpec
from fairlead.core.web.api_keys import Grant
from fairlead.core.web.callbacks import EVERYONE
from fairlead.core.web.egress import EgressRules
from fairlead.errors import ScheduleRefused
from fairlead.operate.audit import Operator
from fairlead.operate.backpressure import set_depth, set_overload, set_rate
from fairlead.operate.callbacks import add_endpoint, remove_endpoint, send_ping
from fairlead.operate.limits import set_limit
from fairlead.operate.pauses import pause
from fairlead.operate.pools import set_pool
from fairlead.operate.quarantine import put
from fairlead.operate.retry_budgets import set_budget
from fairlead.operate.schedules import add
from fairlead.operate.tenants import put_tenant
from tests.api.conftest import LANE, Api

OWN, OTHER = "acme", "rival"
NUMBERS = itertools.count()
ABSENT = make_ids(1, 1_700_000_000.0)[0]
WHY = {"reason": "a test"}

# What each endpoint is sent. It is about a job where the path has {job_id}, and then WAITS or DEAD says of which kind.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/jobs"): {"type": "mail", "payload": {"to": "ann"}},
    ("POST", "/v1/jobs/batch"): {"jobs": [{"type": "mail", "payload": {"to": "ann"}}]},
    ("GET", "/v1/jobs"): None,
    ("GET", "/v1/jobs/count"): None,
    ("POST", "/v1/jobs/cancel"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/jobs/run-now"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/jobs/priority"): {"filter": {"type": "none"}, "priority": "low", **WHY},
    ("GET", "/v1/jobs/{job_id}"): None,
    ("DELETE", "/v1/jobs/{job_id}"): None,
    ("PATCH", "/v1/jobs/{job_id}"): {"priority": "low"},
    ("POST", "/v1/jobs/{job_id}/retry"): None,
    ("GET", "/v1/jobs/{job_id}/explain"): None,
    ("GET", "/v1/jobs/{job_id}/wait"): None,
    ("GET", "/v1/jobs/{job_id}/events"): None,
    ("GET", "/v1/dead-letters"): None,
    ("GET", "/v1/dead-letters/groups"): None,
    ("GET", "/v1/dead-letters/count"): None,
    ("GET", "/v1/dead-letters/{job_id}"): None,
    ("PATCH", "/v1/dead-letters/{job_id}"): {"payload": {"to": "bob"}},
    ("POST", "/v1/dead-letters/{job_id}/replay"): {},
    ("POST", "/v1/dead-letters/replay"): {"filter": {}, **WHY},
    ("POST", "/v1/dead-letters/replay-in-stages"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/dead-letters/replay-in-stages/stream"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/dead-letters/cancel"): {"filter": {"type": "none"}, **WHY},
    ("DELETE", "/v1/dead-letters/{job_id}"): None,
    ("POST", "/v1/dead-letters/purge"): {"filter": {"type": "none"}, "older_than": 5.0, **WHY},
    ("GET", "/v1/types"): None,
    ("GET", "/v1/types/{name:path}"): None,
    ("GET", "/v1/workers"): None,
    ("POST", "/v1/workers/{worker_id}/drain"): None,
    ("POST", "/v1/workers/{worker_id}/stop"): None,
    ("GET", "/v1/stats"): None,
    ("GET", "/v1/alerts"): None,
    ("GET", "/v1/stats/history"): None,
    ("GET", "/v1/stats/waits"): None,
    ("GET", "/v1/stats/stream"): None,
    ("GET", "/v1/tenants"): None,
    ("GET", "/v1/tenants/{name:path}"): None,
    ("PUT", "/v1/tenants/{name:path}"): {"tier": "pro"},
    ("PATCH", "/v1/tenants/{name:path}"): {"weight": 2.0},
    ("DELETE", "/v1/tenants/{name:path}"): None,
    ("GET", "/v1/tiers"): None,
    ("PUT", "/v1/tiers/default"): {"tier": "standard"},
    ("GET", "/v1/shares"): None,
    ("GET", "/v1/pools"): None,
    ("GET", "/v1/pools/{name:path}"): None,
    ("PUT", "/v1/pools/{name:path}"): {"wait": 5.0},
    ("PATCH", "/v1/pools/{name:path}"): {"concurrency": 3},
    ("DELETE", "/v1/pools/{name:path}"): None,
    ("GET", "/v1/schedules"): None,
    ("POST", "/v1/schedules"): {"name": "{new}", "expression": "@daily", "type": "mail", "payload": {"to": "ann"}},
    ("GET", "/v1/schedules/{name:path}"): None,
    ("PATCH", "/v1/schedules/{name:path}"): {"expression": "@hourly"},
    ("DELETE", "/v1/schedules/{name:path}"): None,
    ("POST", "/v1/schedules/pause"): {"name": "daily", **WHY},
    ("POST", "/v1/schedules/resume"): {"name": "daily", **WHY},
    ("POST", "/v1/schedules/run-now"): {"name": "daily", **WHY},
    ("GET", "/v1/fires"): None,
    ("GET", "/v1/breakers"): None,
    ("POST", "/v1/breakers/open"): {"name": "type:mail", **WHY},
    ("POST", "/v1/breakers/close"): {"name": "type:mail", **WHY},
    ("GET", "/v1/quarantines"): None,
    ("POST", "/v1/quarantines"): {"type": "mail", **WHY},
    ("POST", "/v1/quarantines/release"): {"type": "mail", **WHY},
    ("GET", "/v1/limits"): None,
    ("GET", "/v1/limits/{scope}/{name:path}"): None,
    ("PUT", "/v1/limits/{scope}/{name:path}"): {"concurrent": 5},
    ("DELETE", "/v1/limits/{scope}/{name:path}"): None,
    ("GET", "/v1/backpressure"): None,
    ("PUT", "/v1/backpressure/depths/{scope}/{name:path}"): {"waiting": 1_000_000},
    ("DELETE", "/v1/backpressure/depths/{scope}/{name:path}"): None,
    ("PUT", "/v1/backpressure/rates/{scope}/{name:path}"): {"rate": 1_000_000.0},
    ("DELETE", "/v1/backpressure/rates/{scope}/{name:path}"): None,
    ("PUT", "/v1/backpressure/overload"): {"waiting": 1_000_000},
    ("DELETE", "/v1/backpressure/overload"): None,
    ("GET", "/v1/retry-budgets"): None,
    ("GET", "/v1/retry-budgets/{name:path}"): None,
    ("PUT", "/v1/retry-budgets/{name:path}"): {"ratio": 3.0},
    ("DELETE", "/v1/retry-budgets/{name:path}"): None,
    ("GET", "/v1/pauses"): None,
    ("POST", "/v1/pauses"): {"scope": "type", "name": "none", **WHY},
    ("POST", "/v1/pauses/resume"): {"scope": "type", "name": "none", **WHY},
    ("GET", "/v1/audit"): None,
    ("GET", "/v1/audit/verification"): None,
    ("POST", "/v1/keys"): {"name": "k", "scopes": ["read"]},
    ("GET", "/v1/keys"): None,
    ("GET", "/v1/keys/{key_id}"): None,
    ("DELETE", "/v1/keys/{key_id}"): None,
    ("POST", "/v1/callbacks"): {"name": "bills", "url": "https://hooks.example.org/"},
    ("GET", "/v1/callbacks"): None,
    ("GET", "/v1/callbacks/{name}"): None,
    ("PATCH", "/v1/callbacks/{name}"): {"enabled": True},
    ("DELETE", "/v1/callbacks/{name}"): None,
    ("POST", "/v1/callbacks/{name}/rotate"): {},
    ("POST", "/v1/callbacks/{name}/test"): {},
    ("GET", "/v1/callbacks/{name}/deliveries"): None,
    ("POST", "/v1/callbacks/{name}/deliveries/{delivery_id}/redeliver"): {},
    ("GET", "/v1/openapi.json"): None,
}
# What a name in the path is the name of.
NAMES = {"/v1/types": "mail", "/v1/schedules": "daily", "/v1/pools": "short"}
DEAD = {("GET", "/v1/jobs/{job_id}/wait"), ("GET", "/v1/jobs/{job_id}/events"), ("POST", "/v1/jobs/{job_id}/retry")}


def routes_of(api: Api) -> dict[tuple[str, str], APIRoute]:
    return {
        (method, route.path): route
        for route in api.asgi.routes
        if isinstance(route, APIRoute) and needs_of(route)
        for method in route.methods or ()
    }


async def make_callback(api: Api, tenant: str | None) -> str:
    """Endpoints as an endpoint of the API may need them; returns the id of a delivery to one."""
    for name in ("orders", "bills"):
        if await api.store.callbacks.read([(tenant or EVERYONE, name)]):
            await remove_endpoint(api.store, Operator("tests"), tenant, name)
    await add_endpoint(api.store, Operator("tests"), EgressRules(), "orders", "https://hooks.example.org/", tenant)
    return (await send_ping(api.store, Operator("tests"), tenant, "orders", "default")).job_id


async def ask(api: Api, case: tuple[str, str], key: str, job_id: str) -> httpx2.Response:
    method, path = case
    name = next((name for prefix, name in NAMES.items() if path.startswith(prefix)), OWN)
    path = path.replace("{job_id}", job_id).replace("{scope}", "tenant").replace("{name:path}", name)
    path = path.replace("{name}", "orders").replace("{delivery_id}", job_id)
    path = re.sub(r"{worker_id}", ABSENT, path).replace("{key_id}", "x")
    path += "?expression=@daily" if path == "/v1/fires" else ""
    body = BODIES[case]
    if body and body.get("name") == "{new}":
        body = {**body, "name": f"{OWN}/new-{next(NUMBERS)}"}
    return await api.call(method, path, key, **({} if body is None else {"json": body}))


async def make_job(api: Api, case: tuple[str, str], tenant: str) -> str:
    if case in DEAD or "dead-letters" in case[1]:
        return await api.dead(tenant=tenant)
    return await api.submit(tenant=tenant)


async def test_the_table_has_every_endpoint(api: Api) -> None:
    assert routes_of(api).keys() == BODIES.keys()


async def make_settings(api: Api, case: tuple[str, str]) -> None:
    """What the endpoint is about is there, whatever an earlier request did to it."""
    operator = Operator("tests")
    if "schedules" in case[1]:
        with contextlib.suppress(ScheduleRefused):
            await add(api.store, ScheduleSpec("daily", "0 3 * * *", "UTC", LANE, '{"to":"ann"}'), operator)
    elif case[1].endswith("/release"):
        await put(api.store, "mail", operator)
    elif "pauses" in case[1]:
        await pause(api.store, "type", "none", operator)
    elif "tenants" in case[1]:
        await put_tenant(api.store, Tenant(OWN), operator)
    elif "pools" in case[1]:
        await set_pool(api.store, "short", {"attempts": 5}, operator)
    elif "budgets" in case[1]:
        await set_budget(api.store, OWN, RetryBudget(), operator)
    elif "limits" in case[1]:
        await set_limit(api.store, "tenant", OWN, operator, concurrent=5)
    elif "backpressure" in case[1]:
        await set_depth(api.store, "tenant", OWN, 1_000_000, operator)
        await set_rate(api.store, "tenant", OWN, 1_000_000.0, operator)
        await set_overload(api.store, Overload(1_000_000), operator)


async def test_a_key_opens_what_its_scope_includes_and_nothing_else(api: Api) -> None:
    api.asgi.state.service.watch.close()  # the stream of figures then ends by itself
    for (case, route), grant, tenant in itertools.product(routes_of(api).items(), Grant, (None, OWN)):
        needs = needs_of(route)
        assert needs
        key = await api.key(grant, tenant=tenant)
        job_id = await make_job(api, case, OWN) if "{job_id}" in case[1] else ""
        await make_settings(api, case)
        if case[1].startswith("/v1/callbacks"):
            job_id = await make_callback(api, tenant)
        answer = await ask(api, case, key, job_id)
        may = needs.grant in {Grant.ENQUEUE: {"enqueue"}, Grant.READ: {"read"}, Grant.OPERATE: {"operate", "read"}}.get(
            grant, set(Grant)
        )
        told = (case, grant, tenant, answer.text)
        if may and not (needs.everywhere and tenant):
            assert answer.status_code < 300 or "{worker_id}" in case[1] or "{key_id}" in case[1], told
        else:
            assert answer.status_code == 403, told


async def test_another_tenants_job_is_as_absent_as_one_that_never_was(api: Api) -> None:
    key = await api.key("enqueue", "operate", tenant=OTHER)
    for case in [case for case in BODIES if "{job_id}" in case[1]]:
        foreign = await ask(api, case, key, await make_job(api, case, OWN))
        absent = await ask(api, case, key, ABSENT)
        nonsense = await ask(api, case, key, "nonsense")
        assert foreign.status_code == 404, (case, foreign.text)
        assert foreign.content == absent.content == nonsense.content, case
        assert set(foreign.headers) == set(absent.headers)


async def test_another_tenants_callback_is_as_absent_as_one_that_never_was(api: Api) -> None:
    key = await api.key("enqueue", "operate", tenant=OTHER)
    cases = [case for case in BODIES if case[1].startswith("/v1/callbacks/{name}")]
    before = [await ask(api, case, key, ABSENT) for case in cases]
    await make_callback(api, None)
    delivery = await make_callback(api, OWN)
    for case, absent in zip(cases, before, strict=True):
        foreign = await ask(api, case, key, ABSENT if "{delivery_id}" in case[1] else "")
        assert foreign.status_code == 404, (case, foreign.text)
        assert foreign.content == absent.content, case
        assert set(foreign.headers) == set(absent.headers)
    await make_callback(api, OTHER)
    theirs = await ask(api, cases[-1], key, delivery)
    assert (theirs.status_code, theirs.json()["code"]) == (404, "CALLBACK_NOT_FOUND")


async def test_lists_have_only_what_is_ones_own(api: Api) -> None:
    dead_mine, dead_theirs = await api.dead(tenant=OTHER), await api.dead(tenant=OWN)
    mine, theirs = await api.submit(tenant=OTHER), await api.submit(tenant=OWN)
    key = await api.key("operate", tenant=OTHER)
    listed = (await api.call("GET", "/v1/jobs", key)).text + (await api.call("GET", "/v1/dead-letters", key)).text
    assert mine in listed
    assert dead_mine in listed
    assert theirs not in listed
    assert dead_theirs not in listed
    (group,) = (await api.call("GET", "/v1/dead-letters/groups", key)).json()["groups"]
    assert (group["count"], group["tenants"], group["sample"]) == (1, 1, dead_mine)


@pytest.mark.parametrize("path", [f"/v1/{what}/{name}" for what in ("tenants", "retry-budgets") for name in (OWN, "x")])
async def test_what_is_set_for_another_tenant_is_not_shown(api: Api, path: str) -> None:
    answer = await api.call("GET", path, await api.key("read", tenant=OTHER))
    assert (answer.status_code, answer.json()["code"]) == (403, "TENANT_FORBIDDEN")


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/dead-letters", "/v1/dead-letters/groups"])
async def test_asking_for_another_tenant_is_refused_whether_it_is_there_or_not(api: Api, path: str) -> None:
    await api.submit(tenant=OWN)
    key = await api.key("read", tenant=OTHER)
    for tenant in (OWN, "nobody"):
        answer = await api.call("GET", path, key, params={"tenant": tenant})
        assert (answer.status_code, answer.json()["code"]) == (403, "TENANT_FORBIDDEN")


async def test_a_bound_key_submits_for_its_tenant_only(api: Api) -> None:
    key = await api.key("enqueue", tenant=OTHER)
    body = {"type": "mail", "payload": {"to": "ann"}}
    assert (await api.call("POST", "/v1/jobs", key, json=body)).json()["tenant"] == OTHER
    assert (await api.call("POST", "/v1/jobs", key, json={**body, "tenant": OTHER})).status_code == 202
    assert (await api.call("POST", "/v1/jobs", key, json={**body, "tenant": OWN})).status_code == 403
    batch = await api.call("POST", "/v1/jobs/batch", key, json={"jobs": [body, {**body, "tenant": OWN}]})
    assert [item["status"] for item in batch.json()["results"]] == [202, 403]
    assert not (await api.call("GET", "/v1/jobs", params={"tenant": OWN})).json()["jobs"]


@pytest.mark.parametrize("action", ["replay", "cancel"])
async def test_actions_on_many_touch_only_ones_own(api: Api, action: str) -> None:
    mine, theirs = await api.dead(tenant=OTHER), await api.dead(tenant=OWN)
    key = await api.key("operate", tenant=OTHER)
    path = f"/v1/dead-letters/{action}"
    found = (await api.call("POST", path, key, json={"ids": [theirs, ABSENT], **WHY})).json()
    assert found["done"] == []
    assert {item["code"] for item in found["refused"]} == {"JOB_NOT_FOUND"}
    assert [item["detail"].replace(theirs, ABSENT) for item in found["refused"]] == [found["refused"][1]["detail"]] * 2
    assert (await api.call("POST", path, key, json={"filter": {}, **WHY})).json()["done"] == [mine]
    assert (await api.call("GET", f"/v1/jobs/{theirs}")).json()["state"] == "dead"


async def test_a_purge_removes_only_ones_own(api: Api) -> None:
    mine, theirs = await api.dead(tenant=OTHER), await api.dead(tenant=OWN)
    key = await api.key("operate", tenant=OTHER)
    body = {"filter": {}, "older_than": 0.0, **WHY}
    assert (await api.call("POST", "/v1/dead-letters/purge", key, json=body)).json()["removed"] == 1
    assert (await api.call("GET", f"/v1/jobs/{mine}")).status_code == 404
    assert (await api.call("GET", f"/v1/jobs/{theirs}")).status_code == 200
