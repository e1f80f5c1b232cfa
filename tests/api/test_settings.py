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


async def test_a_tenant_is_set_up_changed_and_forgotten(any_api: Api) -> None:
    api = any_api
    made = await done(api, "PUT", "/v1/tenants/acme/eu", {"tier": "pro", "weight": 7.5, **WHY})
    assert (made["name"], made["tier"], made["weight"], made["set_up"]) == ("acme/eu", "pro", 7.5, True)
    changed = await done(api, "PATCH", "/v1/tenants/acme/eu", {"minimum": 0.2})
    assert (changed["tier"], changed["weight"], changed["minimum"]) == ("pro", 7.5, 0.2)
    plain = await done(api, "PATCH", "/v1/tenants/acme/eu", {"weight": None})
    assert (plain["weight"], plain["effective_weight"], plain["minimum"]) == (None, 100.0, 0.2)
    (listed,) = (await done(api, "GET", "/v1/tenants"))["tenants"]
    assert listed["version"] == plain["version"] > changed["version"] > made["version"] > 0
    await done(api, "DELETE", "/v1/tenants/acme/eu?reason=gone")
    assert (await done(api, "GET", "/v1/tenants/acme/eu"))["set_up"] is False
    entries = await api.store.audit.read(10)
    assert [entry.action for entry in entries[:4]] == ["tenants.remove", "tenants.set", "tenants.set", "tenants.set"]
    assert (await verify_chain(api.store)).sound


async def test_a_change_counts_only_upon_the_version_that_was_seen(any_api: Api) -> None:
    api, path = any_api, "/v1/tenants/acme"
    assert (await api.call("GET", path)).headers["etag"] == '"0"'
    made = await api.call("PUT", path, json={"tier": "pro"}, headers={"If-None-Match": "*"})
    seen = made.headers["etag"]
    assert await refused(api, "PUT", path, {"tier": "free"}, If_None_Match="*") == (412, "CHANGED_MEANWHILE")
    await done(api, "PATCH", path, {"weight": 3.0}, If_Match=seen)
    for stale in (seen, '"0"', 'W/"1"', "nonsense"):
        assert await refused(api, "PATCH", path, {"weight": 4.0}, If_Match=stale) == (412, "CHANGED_MEANWHILE")
    assert await refused(api, "DELETE", path, None, If_Match=seen) == (412, "CHANGED_MEANWHILE")
    assert (await done(api, "GET", path))["weight"] == 3.0
    await done(api, "DELETE", path, None, If_Match="*")
    assert await refused(api, "DELETE", path, None, If_Match="*") == (412, "CHANGED_MEANWHILE")


async def test_the_default_tier_is_set(api: Api) -> None:
    tiers = await done(api, "GET", "/v1/tiers")
    assert (tiers["default"], tiers["tiers"][0]["name"]) == ("standard", "free")
    assert (await done(api, "PUT", "/v1/tiers/default", {"tier": "free", **WHY}))["default"] == "free"
    assert (await done(api, "GET", "/v1/tenants/anyone"))["tier"] == "free"
    assert await refused(api, "PUT", "/v1/tiers/default", {"tier": "gold"}) == (422, "INVALID_REQUEST")


async def test_a_pool_is_changed_made_and_reset(any_api: Api) -> None:
    api = any_api
    assert (await done(api, "PATCH", "/v1/pools/short", {"wait": 3.0}))["wait"] == 3.0
    changed = await api.call(
        "PATCH",
        "/v1/pools/short",
        json={"concurrency": 4, "longest": None, "attempts": 7, "timeout": 30.0, "lease": 9.0},
    )
    assert {**changed.json(), "version": 0} == {
        "name": "short", "longest": None, "concurrency": 4, "wait": 3.0, "depth": None, "estimate": 10.0,
        "beside_others_only": False, "attempts": 7, "timeout": 30.0, "lease": 9.0, "version": 0,
    }  # fmt: skip
    replaced = await done(api, "PUT", "/v1/pools/short", {"concurrency": 5}, If_Match=changed.headers["etag"])
    assert (replaced["longest"], replaced["concurrency"], replaced["wait"]) == (1.0, 5, 0.5)
    await done(api, "PUT", "/v1/pools/reports", {"estimate": 30.0})
    assert [pool["name"] for pool in (await done(api, "GET", "/v1/pools"))["pools"]] == [
        "short", "medium", "long", "reports",
    ]  # fmt: skip
    await done(api, "DELETE", "/v1/pools/short")
    assert (await done(api, "GET", "/v1/pools/short"))["version"] == 0
    assert await refused(api, "PATCH", "/v1/pools/short", {"concurrency": 0}) == (422, "INVALID_REQUEST")


async def test_a_limit_is_set_shown_and_removed(any_api: Api) -> None:
    api, path = any_api, "/v1/limits/type/mail"
    assert await refused(api, "GET", path) == (404, "NOT_SET")
    made = await done(api, "PUT", path, {"concurrent": 2, "rate": 5.0, "burst": 10, **WHY})
    assert (made["concurrent"], made["rate"], made["burst"], made["tokens"]) == (2, 5.0, 10.0, 10.0)
    assert made.pop("holders") == []
    assert (await done(api, "GET", "/v1/limits"))["limits"] == [made]
    lifted = await done(api, "PUT", path, {"unlimited": True}, If_Match=f'"{made["version"]}"')
    assert (lifted["concurrent"], lifted["rate"]) == (None, None)
    assert await refused(api, "PUT", path, {}) == (422, "CONFIG_ERROR")
    assert await refused(api, "PUT", path, {"burst": 5}) == (422, "CONFIG_ERROR")
    await done(api, "DELETE", path)
    assert await refused(api, "DELETE", path) == (404, "NOT_SET")
    for name in ("tenant/*", "tenant+pool/acme+short", "limit/stripe=account-7", "dependency/stripe"):
        assert (await done(api, "PUT", f"/v1/limits/{name}", {"concurrent": 1}))["concurrent"] == 1
    assert await refused(api, "PUT", "/v1/limits/tenant+pool/acme", {"concurrent": 1}) == (422, "CONFIG_ERROR")
    assert await refused(api, "PUT", "/v1/limits/queue/acme", {"concurrent": 1}) == (422, "INVALID_REQUEST")


async def test_bounds_on_submissions_are_set_and_removed(any_api: Api) -> None:
    api = any_api
    await done(api, "PUT", "/v1/backpressure/depths/tenant/acme", {"waiting": 7, **WHY})
    await done(api, "PUT", "/v1/backpressure/rates/tier/free", {"rate": 2.0, "burst": 4})
    shown = await done(api, "PUT", "/v1/backpressure/overload", {"waiting": 100, "action": "defer", "delay": 5})
    (depth,), (rate,) = shown["depths"], shown["rates"]
    assert (depth["scope"], depth["name"], depth["waiting"]) == ("tenant", "acme", 7)
    assert (rate["scope"], rate["name"], rate["rate"], rate["burst"]) == ("tier", "free", 2.0, 4.0)
    assert (shown["overload"]["waiting"], shown["overload"]["action"], shown["overload"]["delay"]) == (
        100,
        "defer",
        5.0,
    )
    stale = f'"{rate["version"]}"'
    assert (await refused(api, "DELETE", "/v1/backpressure/overload", None, If_Match=stale))[0] == 412
    for path in ("depths/tenant/acme", "rates/tier/free", "overload"):
        await done(api, "DELETE", f"/v1/backpressure/{path}")
        assert await refused(api, "DELETE", f"/v1/backpressure/{path}") == (404, "NOT_SET")
    assert await done(api, "GET", "/v1/backpressure") == {"depths": [], "rates": [], "overload": None, "counts": []}


async def test_a_bound_that_was_set_refuses_submissions(api: Api) -> None:
    await done(api, "PUT", "/v1/backpressure/depths/tenant/acme", {"waiting": 0})
    tenant = await done(api, "GET", "/v1/tenants/acme")
    assert (tenant["depth"], tenant["submission_rate"]) == (0, None)
    body = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme"}
    answer = await api.call("POST", "/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (429, "TENANT_QUEUE_FULL")
    assert int(answer.headers["retry-after"]) >= 1


async def test_every_refusal_has_a_code_says_when_to_come_again_and_is_counted(api: Api) -> None:
    body = {"type": "mail", "payload": {"to": "ann"}}
    await done(api, "PUT", "/v1/backpressure/rates/tenant/bob", {"rate": 0.01, "burst": 1})
    await done(api, "POST", "/v1/jobs", {**body, "tenant": "bob"})
    answer = await api.call("POST", "/v1/jobs", json={**body, "tenant": "bob"})
    assert (answer.status_code, answer.json()["code"]) == (429, "TENANT_RATE_LIMIT_EXCEEDED")
    assert 90 <= int(answer.headers["retry-after"]) <= 101
    async with asyncio.timeout(60):  # the store is told in the background
        while not (counts := (await done(api, "GET", "/v1/backpressure"))["counts"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert counts == [{"tenant": "bob", "code": "TENANT_RATE_LIMIT_EXCEEDED", "jobs": 1}]


async def test_a_retry_budget_is_set_and_reset(any_api: Api) -> None:
    api, path = any_api, "/v1/retry-budgets/acme"
    assert (await done(api, "GET", path))["own"] is False
    made = await done(api, "PUT", path, {"ratio": 0.5, "floor": 3, "window": 10, **WHY})
    assert (made["allowed"], made["window"], made["own"], made["used_up"]) == (3.0, 10.0, True, False)
    free = await done(api, "PUT", path, {"ratio": None}, If_Match=f'"{made["version"]}"')
    assert (free["allowed"], free["ratio"]) == (None, None)
    assert (await done(api, "GET", "/v1/retry-budgets"))["budgets"] == [free]
    assert (await done(api, "GET", "/v1/tenants/acme"))["retry_budget"]["ratio"] is None
    await done(api, "DELETE", path)
    assert (await done(api, "GET", "/v1/retry-budgets")) == {"budgets": []}
    assert await refused(api, "PUT", path, {"ratio": 1, "floor": 0}) == (422, "INVALID_REQUEST")


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
