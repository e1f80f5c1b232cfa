"""Schedules over HTTP for a key that is bound to a tenant: its own, and nothing of others."""

import itertools
from typing import Any

import pytest

from fairlead.core.schedule.schedules import ScheduleSpec
from fairlead.handlers.recurring import on_terms
from fairlead.recurring import changes as schedules
from fairlead.recurring.changes import add, change, get, run_now
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, Api

OWN, OTHER = "acme", "rival"
ADA = Operator("ada")
WHY = {"reason": "a test"}
NEW = {"name": "acme:nightly", "expression": "@daily", "type": "mail", "payload": {"to": "ann"}}


async def schedule(api: Api, name: str, tenant: str) -> None:
    lane = LANE._replace(tenant=tenant)
    await add(api.store, ScheduleSpec(name, "0 3 * * *", "UTC", lane, '{"to":"secret"}'), ADA)


def requests_about(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Everything that can be asked about one schedule, in ways that a look behind the scenes would answer otherwise."""
    path, stale = f"/v1/schedules/{name}", {"If-Match": '"77"'}
    return [
        ("GET", path, {}),
        ("PATCH", path, {"json": {"expression": "@hourly"}}),
        ("PATCH", path, {"json": {"payload": {"to": 5}}}),
        ("PATCH", path, {"json": {"payload": {"to": "bob"}, "tenant": OWN}}),
        ("PATCH", path, {"json": {"expression": "@hourly"}, "headers": stale}),
        ("DELETE", path, {"headers": stale}),
        ("DELETE", path, {}),
        *(("POST", f"{path}/{verb}", {"json": WHY}) for verb in ("pause", "resume", "run-now")),
    ]


async def test_a_bound_key_has_the_whole_life_of_a_schedule_of_its_tenant(any_api: Api) -> None:
    key = await any_api.key("operate", tenant=OWN)
    made = await any_api.call("POST", "/v1/schedules", key, json=NEW)
    assert (made.status_code, made.json()["tenant"]) == (201, OWN)
    path = made.headers["location"]
    changed = await any_api.call("PATCH", path, key, json={"payload": {"to": "bob"}, "tenant": OWN})
    assert (changed.status_code, changed.json()["payload"], changed.json()["tenant"]) == (200, {"to": "bob"}, OWN)
    wanted = {"json": WHY}
    assert (await any_api.call("POST", f"{path}/pause", key, **wanted)).json()["state"] == "paused"
    assert (await any_api.call("POST", f"{path}/resume", key, **wanted)).json()["state"] == "active"
    job_id = (await any_api.call("POST", f"{path}/run-now", key, **wanted)).json()["job_id"]
    (shown,) = (await any_api.call("GET", "/v1/schedules", key)).json()["schedules"]
    assert [fire["job_id"] for fire in shown["fires"]] == [job_id]
    assert (await any_api.call("GET", f"/v1/jobs/{job_id}", key)).json()["tenant"] == OWN
    assert (await any_api.call("GET", "/v1/fires", key, params={"expression": "@daily"})).status_code == 200
    assert (await any_api.call("DELETE", path, key)).status_code == 204
    assert (await any_api.call("GET", path, key)).status_code == 404


async def test_a_key_that_only_reads_changes_nothing(api: Api) -> None:
    await schedule(api, "mine", OWN)
    key = await api.key("read", tenant=OWN)
    for method, path, more in requests_about("mine"):
        assert (await api.call(method, path, key, **more)).status_code == (200 if method == "GET" else 403), path
    assert (await api.call("POST", "/v1/schedules", key, json=NEW)).status_code == 403


async def test_another_tenants_schedule_is_as_absent_as_one_that_never_was(any_api: Api) -> None:
    await schedule(any_api, "theirs", OTHER)
    before = await any_api.store.schedules.read(["theirs"])
    key = await any_api.key("operate", tenant=OWN)
    for foreign, absent in zip(requests_about("theirs"), requests_about("absent"), strict=True):
        answer, missing = [await any_api.call(method, path, key, **more) for method, path, more in (foreign, absent)]
        assert (answer.status_code, answer.json()["code"]) == (404, "SCHEDULE_NOT_FOUND"), foreign
        assert answer.text.replace("theirs", "absent") == missing.text, foreign
        assert set(answer.headers) == set(missing.headers)
    assert await any_api.store.schedules.read(["theirs"]) == before
    assert (await any_api.store.audit.read(1))[0].action == "create key"


async def test_lists_have_only_what_is_ones_own_and_pages_do_not_tell_of_the_rest(any_api: Api) -> None:
    for name, tenant in (("a", OTHER), ("b", OWN), ("c", OTHER), ("d", OWN), ("e", OTHER)):
        await schedule(any_api, name, tenant)
    key = await any_api.key("read", tenant=OWN)
    first = (await any_api.call("GET", "/v1/schedules", key, params={"limit": 1})).json()
    rest = (await any_api.call("GET", "/v1/schedules", key, params={"cursor": first["cursor"]})).json()
    assert [item["name"] for item in first["schedules"] + rest["schedules"]] == ["b", "d"]
    assert rest["cursor"] is None
    for tenant in (OTHER, "nobody"):
        answer = await any_api.call("GET", "/v1/schedules", key, params={"tenant": tenant})
        assert (answer.status_code, answer.json()["code"]) == (403, "TENANT_FORBIDDEN")
    found = (await any_api.call("GET", "/v1/schedules", params={"tenant": OTHER})).json()["schedules"]
    assert [item["name"] for item in found] == ["a", "c", "e"]


async def test_a_schedule_cannot_be_made_or_moved_for_another_tenant(api: Api) -> None:
    await schedule(api, "mine", OWN)
    key = await api.key("operate", tenant=OWN)
    for method, path, body in (
        ("POST", "/v1/schedules", {**NEW, "tenant": OTHER}),
        ("PATCH", "/v1/schedules/mine", {"tenant": OTHER}),
    ):
        answer = await api.call(method, path, key, json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "TENANT_FORBIDDEN")
    assert [item.name for item in await api.store.schedules.page(9)] == ["mine"]
    assert await api.store.schedules.page(9, tenant=OTHER) == []


@pytest.mark.parametrize("name", ["nightly", "rival:nightly", "acme:a:b", "acmenightly", "acme:"])
async def test_names_that_are_not_ones_own_are_refused_whether_taken_or_not(api: Api, name: str) -> None:
    key = await api.key("operate", tenant=OWN)
    free = await api.call("POST", "/v1/schedules", key, json={**NEW, "name": name})
    await schedule(api, name, OTHER)
    taken = await api.call("POST", "/v1/schedules", key, json={**NEW, "name": name})
    assert (free.status_code, free.json()["code"], free.text) == (409, "SCHEDULE_REFUSED", taken.text)


async def test_what_a_tenant_makes_itself_is_neither_fast_nor_plenty(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "MOST", 2)
    key = await api.key("operate", tenant=OWN)
    fast = await api.call("POST", "/v1/schedules", key, json={**NEW, "expression": "every 10ms"})
    assert (fast.status_code, "once a second" in fast.json()["detail"]) == (409, True)
    made = [await api.call("POST", "/v1/schedules", key, json={**NEW, "name": f"acme:{n}"}) for n in range(3)]
    assert [answer.status_code for answer in made] == [201, 201, 409]
    slow = await api.call("PATCH", "/v1/schedules/acme:0", key, json={"expression": "every 1s"})
    faster = await api.call("PATCH", "/v1/schedules/acme:0", key, json={"expression": "every 999ms"})
    assert (slow.status_code, faster.status_code) == (200, 409)
    assert (await api.call("POST", "/v1/schedules", json={**NEW, "tenant": OWN})).status_code == 201


async def test_jobs_from_before_a_schedule_changed_hands_are_not_told(any_api: Api) -> None:
    await schedule(any_api, "moved", OTHER)
    theirs = (await run_now(any_api.store, "moved", ADA)).id
    await change(any_api.store, "moved", lambda spec: on_terms(spec, {"tenant": OWN}), ADA)
    mine = (await run_now(any_api.store, "moved", ADA)).id
    key = await any_api.key("read", tenant=OWN)
    answer = await any_api.call("GET", "/v1/schedules/moved", key)
    assert [(fire["job_id"], fire["job_state"]) for fire in answer.json()["fires"]] == [(mine, "ready"), (None, None)]
    assert theirs not in answer.text + (await any_api.call("GET", "/v1/schedules", key)).text
    assert {fire.job_id for fire in (await get(any_api.store, "moved")).fires} == {mine, theirs}


async def test_a_schedule_that_changes_hands_in_between_is_not_changed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator gives the schedule to another tenant after the request has read it and before it writes."""
    await schedule(api, "moving", OWN)
    key = await api.key("operate", tenant=OWN)
    see, turns = api.store.schedules.see, itertools.count()

    async def late(name: str) -> Any:
        seen = await see(name)
        if next(turns) == 0:
            await change(api.store, name, lambda spec: on_terms(spec, {"tenant": OTHER}), ADA)
        return seen

    monkeypatch.setattr(api.store.schedules, "see", late)
    answer = await api.call("PATCH", "/v1/schedules/moving", key, json={"expression": "@hourly"})
    assert answer.status_code == 404, answer.text
    (found,) = await api.store.schedules.read(["moving"])
    assert (found.spec.lane.tenant, found.spec.expression) == (OTHER, "0 3 * * *")
