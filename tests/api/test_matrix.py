"""Who may do what: every endpoint with every scope, for one's own tenant, for another's, and for all."""

import contextlib
import itertools
import re
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from fairlead.api.server import needs_of
from fairlead.core.jobs.ids import make_ids
from fairlead.core.schedule.schedules import ScheduleSpec
from fairlead.core.web.api_keys import Grant
from fairlead.core.web.callbacks import EVERYONE
from fairlead.core.web.egress import EgressRules
from fairlead.errors import ScheduleRefused
from fairlead.operate.callbacks import add_endpoint, remove_endpoint, send_ping
from fairlead.operate.settings import set_setting
from fairlead.recurring.changes import add
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, Api

OWN, OTHER = "acme", "rival"
NUMBERS = itertools.count()
ABSENT = make_ids(1, 1_700_000_000.0)[0]
WHY = {"reason": "a test"}

# What each endpoint is sent. It is about a job where the path has {job_id}, and then WAITS or DEAD says of which kind.
BODIES: dict[tuple[str, str], Any] = {
    ("GET", "/v1/me"): None,
    ("POST", "/v1/jobs"): {"type": "mail", "payload": {"to": "ann"}},
    ("POST", "/v1/jobs/batch"): {"jobs": [{"type": "mail", "payload": {"to": "ann"}}]},
    ("GET", "/v1/jobs"): None,
    ("GET", "/v1/jobs/count"): None,
    ("POST", "/v1/jobs/cancel"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/jobs/run-now"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/jobs/set-priority"): {"filter": {"type": "none"}, "priority": "low", **WHY},
    ("GET", "/v1/jobs/{job_id}"): None,
    ("PATCH", "/v1/jobs/{job_id}"): {"priority": "low"},
    ("DELETE", "/v1/jobs/{job_id}"): WHY,
    ("POST", "/v1/jobs/{job_id}/cancel"): WHY,
    ("POST", "/v1/jobs/{job_id}/run-now"): None,
    ("POST", "/v1/jobs/{job_id}/replay"): WHY,
    ("GET", "/v1/jobs/{job_id}/explain"): None,
    ("GET", "/v1/jobs/{job_id}/wait"): None,
    ("GET", "/v1/jobs/{job_id}/events"): None,
    ("GET", "/v1/dead-letters/groups"): None,
    ("GET", "/v1/dead-letters/count"): None,
    ("POST", "/v1/dead-letters/replay"): {"filter": {}, **WHY},
    ("POST", "/v1/dead-letters/replay-in-stages"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/dead-letters/replay-in-stages/stream"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/dead-letters/cancel"): {"filter": {"type": "none"}, **WHY},
    ("POST", "/v1/dead-letters/purge"): {"filter": {"type": "none"}, "older_than": 5.0, **WHY},
    ("GET", "/v1/types"): None,
    ("GET", "/v1/types/{name}"): None,
    ("GET", "/v1/workers"): None,
    ("POST", "/v1/workers/{worker_id}/drain"): None,
    ("POST", "/v1/workers/{worker_id}/stop"): None,
    ("GET", "/v1/status"): None,
    ("GET", "/v1/status/history"): None,
    ("GET", "/v1/status/waits"): None,
    ("GET", "/v1/status/stream"): None,
    ("GET", "/v1/tenants"): None,
    ("GET", "/v1/tenants/{name}"): None,
    ("GET", "/v1/tiers"): None,
    ("GET", "/v1/shares"): None,
    ("GET", "/v1/settings"): None,
    ("GET", "/v1/settings/{kind}"): None,
    ("GET", "/v1/settings/{kind}/{name}"): None,
    ("PUT", "/v1/settings/{kind}/{name}"): {"value": {"tier": "pro"}},
    ("PATCH", "/v1/settings/{kind}/{name}"): {"value": {"weight": 2.0}},
    ("DELETE", "/v1/settings/{kind}/{name}"): WHY,
    ("GET", "/v1/settings/limit/{name}/holders"): None,
    ("GET", "/v1/schedules"): None,
    ("POST", "/v1/schedules"): {"name": "{new}", "expression": "@daily", "type": "mail", "payload": {"to": "ann"}},
    ("GET", "/v1/schedules/{name}"): None,
    ("PATCH", "/v1/schedules/{name}"): {"expression": "@hourly"},
    ("DELETE", "/v1/schedules/{name}"): None,
    ("POST", "/v1/schedules/{name}/pause"): WHY,
    ("POST", "/v1/schedules/{name}/resume"): None,
    ("POST", "/v1/schedules/{name}/run-now"): None,
    ("GET", "/v1/fires"): None,
    ("GET", "/v1/audit"): None,
    ("GET", "/v1/audit/verification"): None,
    ("POST", "/v1/keys"): {"name": "k", "scopes": ["read"]},
    ("GET", "/v1/keys"): None,
    ("GET", "/v1/keys/{key_id}"): None,
    ("POST", "/v1/keys/{key_id}/revoke"): None,
    ("POST", "/v1/callbacks"): {"name": "bills", "url": "https://hooks.example.org/"},
    ("GET", "/v1/callbacks"): None,
    ("GET", "/v1/callbacks/{name}"): None,
    ("PATCH", "/v1/callbacks/{name}"): {"enabled": True},
    ("DELETE", "/v1/callbacks/{name}"): None,
    ("POST", "/v1/callbacks/{name}/rotate-secret"): {},
    ("POST", "/v1/callbacks/{name}/ping"): {},
    ("GET", "/v1/callbacks/{name}/deliveries"): None,
    ("POST", "/v1/callbacks/{name}/deliveries/{delivery_id}/redeliver"): {},
    ("GET", "/v1/openapi.json"): None,
}
# What a name in the path is the name of.
NAMES = {
    "/v1/types": "mail", "/v1/schedules": "daily", "/v1/callbacks": "orders", "/v1/settings/limit": f"tenant:{OWN}",
}  # fmt: skip
DEAD = {
    ("GET", "/v1/jobs/{job_id}/wait"),
    ("GET", "/v1/jobs/{job_id}/events"),
    ("POST", "/v1/jobs/{job_id}/replay"),
    ("DELETE", "/v1/jobs/{job_id}"),
}
LATER = ("POST", "/v1/jobs/{job_id}/run-now")


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
    path = path.replace("{job_id}", job_id).replace("{kind}", "tenant").replace("{name}", name)
    path = path.replace("{delivery_id}", job_id)
    path = re.sub(r"{worker_id}", ABSENT, path).replace("{key_id}", "x")
    path += "?expression=@daily" if path == "/v1/fires" else ""
    body = BODIES[case]
    if body and body.get("name") == "{new}":
        body = {**body, "name": f"{OWN}:new-{next(NUMBERS)}"}
    return await api.call(method, path, key, **({} if body is None else {"json": body}))


async def make_job(api: Api, case: tuple[str, str], tenant: str) -> str:
    if case in DEAD:
        return await api.dead(tenant=tenant)
    return await api.submit(tenant=tenant, run_in=500.0 if case == LATER else None)


async def test_the_table_has_every_endpoint(api: Api) -> None:
    assert routes_of(api).keys() == BODIES.keys()


async def make_settings(api: Api, case: tuple[str, str]) -> None:
    """What the endpoint is about is there, whatever an earlier request did to it."""
    operator = Operator("tests")
    if "schedules" in case[1]:
        with contextlib.suppress(ScheduleRefused):
            await add(api.store, ScheduleSpec("daily", "0 3 * * *", "UTC", LANE, '{"to":"ann"}'), operator)
    elif "{kind}" in case[1]:
        await set_setting(api.store, "tenant", OWN, {"tier": "pro"}, operator)
    elif "limit" in case[1]:
        await set_setting(api.store, "limit", f"tenant:{OWN}", {"concurrent": 5}, operator)


async def test_a_key_opens_what_its_scope_includes_and_nothing_else(api: Api) -> None:
    api.asgi.state.service.feed.close()  # the stream of figures then ends by itself
    for (case, route), grant, tenant in itertools.product(routes_of(api).items(), Grant, (None, OWN)):
        needs = needs_of(route)
        assert needs
        key = await api.key(grant, tenant=tenant)
        job_id = await make_job(api, case, OWN) if "{job_id}" in case[1] else ""
        await make_settings(api, case)
        if case[1].startswith("/v1/callbacks"):
            job_id = await make_callback(api, tenant)
        answer = await ask(api, case, key, job_id)
        may = needs.grant is None or needs.grant in {
            Grant.ENQUEUE: {"enqueue"},
            Grant.READ: {"read"},
            Grant.OPERATE: {"operate", "read"},
        }.get(grant, set(Grant))
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
    dead = await api.call("GET", "/v1/jobs", key, params={"states": "dead"})
    listed = (await api.call("GET", "/v1/jobs", key)).text + dead.text
    assert mine in listed
    assert dead_mine in listed
    assert theirs not in listed
    assert dead_theirs not in listed
    (group,) = (await api.call("GET", "/v1/dead-letters/groups", key)).json()["groups"]
    assert (group["count"], group["tenants"], group["sample"]) == (1, 1, dead_mine)
    assert (await api.call("GET", "/v1/dead-letters/count", key)).json() == {"count": 1}
    assert (await api.call("GET", "/v1/dead-letters/count")).json() == {"count": 2}
    assert (await api.call("GET", "/v1/dead-letters/count", params={"tenant": OWN})).json() == {"count": 1}


@pytest.mark.parametrize("name", [OWN, "x"])
@pytest.mark.parametrize("what", ["tenants", "settings/budget"])
async def test_what_is_set_for_another_tenant_is_not_shown(api: Api, what: str, name: str) -> None:
    answer = await api.call("GET", f"/v1/{what}/{name}", await api.key("read", tenant=OTHER))
    assert (answer.status_code, answer.json()["code"]) == (403, "TENANT_FORBIDDEN")


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/count", "/v1/dead-letters/count", "/v1/dead-letters/groups"])
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
