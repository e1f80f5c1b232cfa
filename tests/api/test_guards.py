"""Breakers, quarantines, limits, schedules and tenants over HTTP."""

from fairlead.core.schedule.schedules import ScheduleSpec
from fairlead.operate.audit import Operator
from fairlead.operate.limits import set_limit
from fairlead.operate.schedules import add
from fairlead.operate.tenants import add_tenant
from tests.api.conftest import LANE, Api

WHY = {"reason": "a test"}


async def test_a_breaker_is_opened_and_closed(api: Api) -> None:
    wanted = {"name": "type:mail", **WHY}
    opened = (await api.call("POST", "/v1/breakers/open", json=wanted)).json()
    assert (opened["phase"], opened["types"]) == ("open", ["mail"])
    (shown,) = (await api.call("GET", "/v1/breakers")).json()["breakers"]
    assert (shown["name"], shown["why"]) == ("type:mail", opened["why"])
    assert (await api.call("POST", "/v1/breakers/close", json=wanted)).json()["phase"] == "closed"
    assert (await api.call("POST", "/v1/breakers/open", json={**wanted, "name": "none"})).status_code == 404


async def test_a_type_is_put_in_quarantine_and_released(api: Api) -> None:
    wanted = {"type": "mail", **WHY}
    assert (await api.call("POST", "/v1/quarantines", json=wanted)).status_code == 204
    (shown,) = (await api.call("GET", "/v1/quarantines")).json()["quarantines"]
    assert (shown["type"], shown["by"]) == ("mail", f"key {api.admin[4:14]} (tests)")
    assert (await api.call("POST", "/v1/quarantines/release", json=wanted)).status_code == 204
    assert (await api.call("GET", "/v1/quarantines")).json() == {"quarantines": []}


async def test_limits_are_shown(api: Api) -> None:
    await set_limit(api.store, "type", "mail", Operator("tests"), concurrent=3)
    (shown,) = (await api.call("GET", "/v1/limits")).json()["limits"]
    assert (shown["scope"], shown["name"], shown["concurrent"], shown["running"]) == ("type", "mail", 3, 0)


async def test_a_schedule_is_paused_resumed_and_run(api: Api) -> None:
    await add(api.store, ScheduleSpec("daily", "0 3 * * *", "UTC", LANE, '{"to":"ann"}'), Operator("tests"))
    wanted = {"name": "daily", **WHY}
    assert (await api.call("POST", "/v1/schedules/pause", json=wanted)).status_code == 204
    job_id = (await api.call("POST", "/v1/schedules/run-now", json=wanted)).json()["id"]
    (shown,) = (await api.call("GET", "/v1/schedules")).json()["schedules"]
    assert (shown["state"], shown["fires"][0]["job_id"], shown["fires"][0]["manual"]) == ("paused", job_id, True)
    assert (await api.call("POST", "/v1/schedules/resume", json=wanted)).status_code == 204
    (shown,) = (await api.call("GET", "/v1/schedules")).json()["schedules"]
    assert (shown["state"], len(shown["next_fires"])) == ("active", 10)
    assert (await api.call("POST", "/v1/schedules/pause", json={**wanted, "name": "none"})).status_code == 404


async def test_a_bound_key_sees_only_its_own_tenant(api: Api) -> None:
    for name in ("acme", "rival"):
        await add_tenant(api.store, name, Operator("tests"), weight=2.0)
    key = await api.key("read", tenant="acme")
    assert [tenant["name"] for tenant in (await api.call("GET", "/v1/tenants", key)).json()["tenants"]] == ["acme"]
    assert len((await api.call("GET", "/v1/tenants")).json()["tenants"]) == 2
    assert (await api.call("GET", "/v1/shares", key)).json() == {"window": 3600.0, "jain": None, "shares": []}


async def test_jobs_are_counted_and_then_cancelled(api: Api) -> None:
    for tenant in ("acme", "acme", "rival"):
        await api.submit(tenant=tenant)
    counted = (await api.call("GET", "/v1/jobs/count", params={"tenant": "acme"})).json()
    assert counted == {"states": {"ready": 2}}
    key = await api.key("operate", tenant="rival")
    body = {"filter": {}, **WHY}
    assert (await api.call("POST", "/v1/jobs/cancel", key, json=body)).json() == {"cancelled": 1, "asked": 0}
    other = {"filter": {"tenant": "acme"}, **WHY}
    assert (await api.call("POST", "/v1/jobs/cancel", key, json=other)).status_code == 403
    assert (await api.call("POST", "/v1/jobs/cancel", json=body)).json() == {"cancelled": 2, "asked": 0}
