"""Breakers, quarantines, limits, schedules and tenants over HTTP."""

from fairlead.core.schedule.schedules import ScheduleSpec
from fairlead.recurring.changes import add
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, Api
from tests.support.settings import add_tenant, set_limit

WHY = {"reason": "a test"}


async def test_a_breaker_is_opened_and_closed(api: Api) -> None:
    path, wanted = "/v1/settings/breaker/type:mail", {"value": {"phase": "open"}, **WHY}
    opened = (await api.call("PUT", path, json=wanted)).json()
    assert (opened["value"], opened["state"]["types"]) == ({"phase": "open"}, ["mail"])
    (shown,) = (await api.call("GET", "/v1/settings/breaker")).json()["settings"]
    assert (shown["name"], shown["state"]["why"]) == ("type:mail", opened["state"]["why"])
    assert (await api.call("DELETE", path, json=WHY)).status_code == 204
    assert (await api.call("GET", path)).json()["value"] == {"phase": "closed"}
    assert (await api.call("PUT", "/v1/settings/breaker/none", json=wanted)).status_code == 404


async def test_a_type_is_put_in_quarantine_and_released(api: Api) -> None:
    path = "/v1/settings/quarantine/mail"
    assert (await api.call("PUT", path, json=WHY)).json()["value"] == {"attempts": 0}
    (shown,) = (await api.call("GET", "/v1/settings/quarantine")).json()["settings"]
    assert (shown["name"], shown["state"]["by"]) == ("mail", f"key {api.admin[4:14]} (tests)")
    assert (await api.call("DELETE", path, json=WHY)).status_code == 204
    assert (await api.call("GET", "/v1/settings/quarantine")).json() == {"settings": []}


async def test_limits_are_shown(api: Api) -> None:
    await set_limit(api.store, "type", "mail", Operator("tests"), concurrent=3)
    (shown,) = (await api.call("GET", "/v1/settings/limit")).json()["settings"]
    assert (shown["name"], shown["value"]["concurrent"], shown["state"]["running"]) == ("type:mail", 3, 0)


async def test_a_schedule_is_paused_resumed_and_run(api: Api) -> None:
    await add(api.store, ScheduleSpec("daily", "0 3 * * *", "UTC", LANE, '{"to":"ann"}'), Operator("tests"))
    path = "/v1/schedules/daily"
    assert (await api.call("POST", f"{path}/pause", json=WHY)).json()["state"] == "paused"
    job_id = (await api.call("POST", f"{path}/run-now")).json()["job_id"]
    (shown,) = (await api.call("GET", "/v1/schedules")).json()["schedules"]
    assert (shown["state"], shown["fires"][0]["job_id"], shown["fires"][0]["manual"]) == ("paused", job_id, True)
    assert (await api.call("POST", f"{path}/resume", json=WHY)).status_code == 200
    (shown,) = (await api.call("GET", "/v1/schedules")).json()["schedules"]
    assert (shown["state"], len(shown["next_fires"])) == ("active", 10)
    assert (await api.call("POST", "/v1/schedules/none/pause")).status_code == 404


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
