"""Setting at run time over HTTP: tenants, pools, limits, backpressure, retry budgets and schedules."""

import asyncio
from typing import Any

import httpx2
import pytest

from fairlead.operate.audit import verify_chain
from tests.api.conftest import Api

WHY = {"reason": "a test"}
Body = dict[str, Any] | None


async def ask(api: Api, method: str, path: str, body: Body, conditions: dict[str, str]) -> httpx2.Response:
    more: dict[str, Any] = {} if body is None else {"json": body}
    headers = {name.replace("_", "-"): text for name, text in conditions.items()}
    return await api.call(method, path, headers=headers, **more)


async def done(api: Api, method: str, path: str, body: Body = None, **conditions: str) -> Any:
    """What is answered to something that works."""
    answer = await ask(api, method, path, body, conditions)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


async def refused(api: Api, method: str, path: str, body: Body = None, **conditions: str) -> tuple[int, str]:
    """Status and code of something that does not work."""
    answer = await ask(api, method, path, body, conditions)
    assert answer.status_code >= 400, answer.text
    return answer.status_code, answer.json()["code"]


def setting(**value: Any) -> dict[str, Any]:
    """The body that sets these fields."""
    return {"value": value, **WHY}


async def test_the_kinds_tell_their_fields(api: Api) -> None:
    kinds = {kind["name"]: kind for kind in (await done(api, "GET", "/v1/settings"))["kinds"]}
    assert set(kinds) == {
        "limit", "depth", "submission", "overload", "breaker", "budget", "quarantine", "pool", "pause", "tenant",
    }  # fmt: skip
    assert {field["name"] for field in kinds["limit"]["fields"]} == {"concurrent", "rate", "burst", "unlimited"}
    for kind in kinds:
        await done(api, "GET", f"/v1/settings/{kind}")
    assert await refused(api, "GET", "/v1/settings/nothing") == (404, "NOT_FOUND")


async def test_a_tenant_is_set_up_changed_and_forgotten(any_api: Api) -> None:
    api, path = any_api, "/v1/settings/tenant/acme:eu"
    made = await done(api, "PUT", path, setting(tier="pro", weight=7.5))
    assert (made["kind"], made["name"], made["value"]["tier"], made["value"]["weight"]) == (
        "tenant", "acme:eu", "pro", 7.5,
    )  # fmt: skip
    changed = await done(api, "PATCH", path, setting(minimum=0.2))
    shown = await done(api, "GET", "/v1/tenants/acme:eu")
    assert (shown["tier"], shown["weight"], shown["minimum"], shown["set_up"]) == ("pro", 7.5, 0.2, True)
    plain = await done(api, "PATCH", path, setting(weight=None))
    shown = await done(api, "GET", "/v1/tenants/acme:eu")
    assert (shown["weight"], shown["effective_weight"], shown["minimum"]) == (None, 100.0, 0.2)
    (listed,) = (await done(api, "GET", "/v1/tenants"))["tenants"]
    assert listed["version"] == plain["version"] > changed["version"] > made["version"] > 0
    replaced = await done(api, "PUT", path, setting(tier="pro"))
    assert replaced["value"]["minimum"] != 0.2
    await done(api, "DELETE", path, WHY)
    assert (await done(api, "GET", "/v1/tenants/acme:eu"))["set_up"] is False
    entries = await api.store.audit.read(10)
    assert [entry.action for entry in entries[:2]] == ["remove tenant", "set tenant"]
    assert '"reason":"a test"' in entries[0].details.replace(": ", ":")
    assert (await verify_chain(api.store)).sound


async def test_a_change_counts_only_upon_the_version_that_was_seen(any_api: Api) -> None:
    api, path = any_api, "/v1/settings/tenant/acme"
    assert (await api.call("GET", path)).headers["etag"] == '"0"'
    made = await api.call("PUT", path, json=setting(tier="pro"), headers={"If-None-Match": "*"})
    seen = made.headers["etag"]
    assert await refused(api, "PUT", path, setting(tier="free"), If_None_Match="*") == (412, "CHANGED_MEANWHILE")
    await done(api, "PATCH", path, setting(weight=3.0), If_Match=seen)
    for stale in (seen, '"0"', 'W/"1"', "nonsense"):
        assert await refused(api, "PATCH", path, setting(weight=4.0), If_Match=stale) == (412, "CHANGED_MEANWHILE")
    assert await refused(api, "DELETE", path, None, If_Match=seen) == (412, "CHANGED_MEANWHILE")
    assert (await done(api, "GET", path))["value"]["weight"] == 3.0
    await done(api, "DELETE", path, None, If_Match="*")
    assert await refused(api, "DELETE", path, None, If_Match="*") == (412, "CHANGED_MEANWHILE")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("pause/type:mail", {**WHY}),
        ("quarantine/mail", {**WHY}),
        ("breaker/type:mail", {"value": {"phase": "open"}, **WHY}),
        ("budget/acme", {"value": {"ratio": 0.5}}),
        ("limit/type:mail", {"value": {"concurrent": 2}}),
        ("depth/tenant:acme", {"value": {"waiting": 2}}),
        ("submission/tenant:acme", {"value": {"rate": 2}}),
        ("overload/policy", {"value": {"waiting": 2}}),
        ("pool/short", {"value": {"wait": 2}}),
    ],
)
async def test_every_kind_keeps_to_its_preconditions(api: Api, path: str, body: dict[str, Any]) -> None:
    path = f"/v1/settings/{path}"
    made = await api.call("PUT", path, json=body, headers={"If-None-Match": "*"})
    assert made.status_code == 200, made.text
    assert made.headers["etag"] == f'"{made.json()["version"]}"' != '"0"'
    assert await refused(api, "PUT", path, body, If_None_Match="*") == (412, "CHANGED_MEANWHILE")
    assert await refused(api, "DELETE", path, WHY, If_Match='"0"') == (412, "CHANGED_MEANWHILE")
    await done(api, "DELETE", path, WHY, If_Match=made.headers["etag"])
    assert await refused(api, "DELETE", path, WHY) == (404, "NOT_SET")


async def test_the_default_tier_is_a_setting(api: Api) -> None:
    tiers = await done(api, "GET", "/v1/tiers")
    assert (tiers["default"], tiers["tiers"][0]["name"]) == ("standard", "free")
    await done(api, "PUT", "/v1/settings/tenant/*", setting(tier="free"))
    assert (await done(api, "GET", "/v1/tenants/anyone"))["tier"] == "free"
    assert (await done(api, "GET", "/v1/tiers"))["default"] == "free"
    assert await refused(api, "PUT", "/v1/settings/tenant/*", setting(tier="gold")) == (422, "CONFIG_ERROR")


async def test_a_pool_is_changed_made_and_reset(any_api: Api) -> None:
    api, path = any_api, "/v1/settings/pool/short"
    assert (await done(api, "PATCH", path, setting(wait=3.0)))["value"]["wait"] == 3.0
    given = setting(concurrency=4, longest=None, attempts=7, timeout=30.0, lease=9.0)
    changed = await api.call("PATCH", path, json=given)
    assert changed.json()["value"] == {
        "longest": None, "concurrency": 4, "wait": 3.0, "depth": None, "estimate": 10.0, "attempts": 7,
        "timeout": 30.0, "lease": 9.0,
    }  # fmt: skip
    replaced = (await done(api, "PUT", path, setting(concurrency=5), If_Match=changed.headers["etag"]))["value"]
    assert (replaced["longest"], replaced["concurrency"], replaced["wait"]) == (1.0, 5, 0.5)
    await done(api, "PUT", "/v1/settings/pool/reports", setting(estimate=30.0))
    listed = (await done(api, "GET", "/v1/settings/pool"))["settings"]
    assert {pool["name"] for pool in listed} == {"short", "medium", "long", "reports"}
    await done(api, "DELETE", path)
    assert (await done(api, "GET", path))["version"] == 0
    assert await refused(api, "PATCH", path, setting(concurrency=0)) == (422, "CONFIG_ERROR")


async def test_a_limit_is_set_shown_and_removed(any_api: Api) -> None:
    api, path = any_api, "/v1/settings/limit/type:mail"
    assert await refused(api, "GET", path) == (404, "NOT_SET")
    made = await done(api, "PUT", path, setting(concurrent=2, rate=5.0, burst=10))
    assert made["value"] == {"concurrent": 2, "rate": 5.0, "burst": 10.0}
    assert made["state"]["tokens"] == 10.0
    assert await done(api, "GET", f"{path}/holders") == {"holders": []}
    assert (await done(api, "GET", "/v1/settings/limit"))["settings"] == [made]
    lifted = await done(api, "PUT", path, setting(unlimited=True), If_Match=f'"{made["version"]}"')
    assert (lifted["value"]["concurrent"], lifted["value"]["rate"]) == (None, None)
    assert await refused(api, "PUT", path, {}) == (422, "CONFIG_ERROR")
    assert await refused(api, "PUT", path, setting(burst=5)) == (422, "CONFIG_ERROR")
    assert await refused(api, "PUT", path, {"concurrent": 5}) == (422, "INVALID_REQUEST")
    await done(api, "DELETE", path)
    assert await refused(api, "DELETE", path) == (404, "NOT_SET")
    for name in ("tenant:*", "tenant+pool:acme+short", "limit:stripe=account-7", "dependency:stripe"):
        made = await done(api, "PUT", f"/v1/settings/limit/{name}", setting(concurrent=1))
        assert (made["name"], made["value"]["concurrent"]) == (name, 1)
    for name in ("tenant+pool:acme", "queue:acme", "acme"):
        path = f"/v1/settings/limit/{name}"
        assert await refused(api, "PUT", path, setting(concurrent=1)) == (422, "CONFIG_ERROR")


async def test_bounds_on_submissions_are_set_and_removed(any_api: Api) -> None:
    api = any_api
    depth = await done(api, "PUT", "/v1/settings/depth/tenant:acme", setting(waiting=7))
    rate = await done(api, "PUT", "/v1/settings/submission/tier:free", setting(rate=2.0, burst=4))
    policy = await done(api, "PUT", "/v1/settings/overload/policy", setting(waiting=100, action="defer", delay=5))
    assert depth["value"] == {"waiting": 7}
    assert rate["value"] == {"rate": 2.0, "burst": 4.0}
    assert (policy["value"]["waiting"], policy["value"]["action"], policy["value"]["delay"]) == (100, "defer", 5.0)
    for path in ("depth/tenant:acme", "submission/tier:free", "overload/policy"):
        await done(api, "DELETE", f"/v1/settings/{path}")
        assert await refused(api, "DELETE", f"/v1/settings/{path}") == (404, "NOT_SET")


async def test_a_bound_that_was_set_refuses_submissions(api: Api) -> None:
    await done(api, "PUT", "/v1/settings/depth/tenant:acme", setting(waiting=0))
    tenant = await done(api, "GET", "/v1/tenants/acme")
    assert (tenant["depth"], tenant["submission_rate"]) == (0, None)
    body = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme"}
    answer = await api.call("POST", "/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (429, "TENANT_QUEUE_FULL")
    assert int(answer.headers["retry-after"]) >= 1


async def test_every_refusal_has_a_code_says_when_to_come_again_and_is_counted(api: Api) -> None:
    body = {"type": "mail", "payload": {"to": "ann"}}
    await done(api, "PUT", "/v1/settings/submission/tenant:bob", setting(rate=0.01, burst=1))
    await done(api, "POST", "/v1/jobs", {**body, "tenant": "bob"})
    answer = await api.call("POST", "/v1/jobs", json={**body, "tenant": "bob"})
    assert (answer.status_code, answer.json()["code"]) == (429, "TENANT_RATE_LIMIT_EXCEEDED")
    assert 90 <= int(answer.headers["retry-after"]) <= 101
    async with asyncio.timeout(60):  # the store is told in the background
        while not (counts := (await done(api, "GET", "/v1/status"))["refused"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert counts == [{"tenant": "bob", "code": "TENANT_RATE_LIMIT_EXCEEDED", "jobs": 1}]


async def test_a_retry_budget_is_set_and_reset(any_api: Api) -> None:
    api, path = any_api, "/v1/settings/budget/acme"
    assert (await done(api, "GET", path))["version"] == 0
    made = await done(api, "PUT", path, setting(ratio=0.5, floor=3, window=10))
    assert (made["state"]["allowed"], made["value"]["window"], made["state"]["used_up"]) == (3.0, 10.0, False)
    free = await done(api, "PUT", path, setting(ratio=None), If_Match=f'"{made["version"]}"')
    assert (free["state"]["allowed"], free["value"]["ratio"]) == (None, None)
    assert (await done(api, "GET", "/v1/settings/budget"))["settings"] == [free]
    assert (await done(api, "GET", "/v1/tenants/acme"))["retry_budget"]["ratio"] is None
    await done(api, "DELETE", path)
    assert (await done(api, "GET", "/v1/settings/budget")) == {"settings": []}
    assert await refused(api, "PUT", path, setting(ratio=1, floor=0)) == (422, "CONFIG_ERROR")


async def test_a_schedule_is_added_changed_and_removed(any_api: Api) -> None:
    api = any_api
    body = {"name": "daily", "expression": "0 3 * * *", "type": "mail", "payload": {"to": "ann"}, "tenant": "acme"}
    answer = await api.call("POST", "/v1/schedules", json={**body, "tz": "Europe/Berlin", **WHY})
    assert (answer.status_code, answer.headers["location"]) == (201, "/v1/schedules/daily")
    made = answer.json()
    assert (made["tz"], made["tenant"], made["payload"], made["state"]) == (
        "Europe/Berlin", "acme", {"to": "ann"}, "active",
    )  # fmt: skip
    assert await refused(api, "POST", "/v1/schedules", body) == (409, "SCHEDULE_REFUSED")
    path, seen = "/v1/schedules/daily", answer.headers["etag"]
    changed = await done(api, "PATCH", path, {"expression": "@hourly", "overlap": "skip", "timeout": 5}, If_Match=seen)
    assert (changed["expression"], changed["overlap"], changed["tz"]) == ("@hourly", "skip", "Europe/Berlin")
    assert changed["options"] == {"timeout": 5.0}
    terms = {"retry": {"backoff": "fixed", "first": 10, "attempts": 3}, "callback": "orders"}
    changed = await done(api, "PATCH", path, terms)
    kept = changed["options"]
    assert (kept["timeout"], kept["callback"], kept["retry"]["first"]) == (5.0, "orders", 10.0)
    assert (await refused(api, "PATCH", path, {"expression": "@daily"}, If_Match=seen))[0] == 412
    assert (await refused(api, "DELETE", path, None, If_Match=seen))[0] == 412
    assert await done(api, "GET", path) == changed
    assert (await api.store.audit.read(1))[0].actor.startswith("key ")
    await done(api, "DELETE", path)
    assert await refused(api, "GET", path) == (404, "SCHEDULE_NOT_FOUND")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"expression": "whenever"}, "CONFIG_ERROR"),
        ({"tz": "Mars/Olympus"}, "CONFIG_ERROR"),
        ({"type": "unheard-of"}, "UNKNOWN_TYPE"),
        ({"payload": {"to": 5}}, "INVALID_ARGUMENTS"),
        ({"overlap": "perhaps"}, "INVALID_REQUEST"),
        ({"colour": "red"}, "INVALID_REQUEST"),
    ],
)
async def test_a_schedule_that_cannot_work_is_refused(api: Api, fields: dict[str, Any], code: str) -> None:
    body = {"name": "daily", "expression": "@daily", "type": "mail", "payload": {"to": "ann"}, **fields}
    assert await refused(api, "POST", "/v1/schedules", body) == (422, code)
    assert (await done(api, "GET", "/v1/schedules"))["schedules"] == []
