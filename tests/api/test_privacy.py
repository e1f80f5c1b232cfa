"""What a tenant's key is not shown, and what no key can take away from others."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from fairlead.api import responses as pages
from fairlead.core.jobs.progress import RunReport
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, MEMORY, Api
from tests.api.test_follow import events_of, served, until_followed
from tests.contract.making import claim_one, new_lease, worker_info
from tests.support.settings import set_depth, set_pool


async def test_operators_reasons_and_names_are_not_shown_to_tenants(api: Api) -> None:
    bound = await api.key("read", tenant="acme")
    cancelled, dead, waiting = await api.submit(), await api.dead(), await api.submit()
    await api.call("POST", f"/v1/jobs/{cancelled}/cancel", json={"reason": "secret plan"})
    await api.call("POST", f"/v1/jobs/{dead}/replay", json={"reason": "secret plan"})
    await api.call("PUT", "/v1/settings/pause/tenant:acme", json={"reason": "secret plan"})
    for path in (cancelled, dead, f"{waiting}/explain"):
        shown = (await api.call("GET", f"/v1/jobs/{path}")).text
        assert "secret plan" in shown, path
        hidden = (await api.call("GET", f"/v1/jobs/{path}", bound)).text
        assert "secret plan" not in hidden, path
        assert "(tests)" not in hidden, path
    assert "paused" in (await api.call("GET", f"/v1/jobs/{waiting}/explain", bound)).json()["summary"]
    timeline = (await api.call("GET", f"/v1/jobs/{dead}", bound)).json()["timeline"]
    assert (timeline[-1]["what"], timeline[-1]["by"], timeline[-1]["note"]) == ("replayed", "an operator", None)


async def test_a_tenants_own_acts_are_shown_to_it(api: Api) -> None:
    bound, job_id = await api.key("operate", tenant="acme"), await api.dead()
    await api.call("POST", f"/v1/jobs/{job_id}/replay", bound, json={"reason": "our own"})
    timeline = (await api.call("GET", f"/v1/jobs/{job_id}", bound)).json()["timeline"]
    assert timeline[-1]["note"] == "our own"


async def test_who_am_i(api: Api) -> None:
    key = await api.key("operate", tenant="acme", rate=7.0)
    me = (await api.call("GET", "/v1/me", key)).json()
    assert (me["tenant"], me["scopes"], me["rate"]) == ("acme", ["operate", "read"], 7.0)
    assert (await api.call("GET", "/v1/me", await api.key("enqueue"))).json()["scopes"] == ["enqueue"]


async def test_lists_leave_payloads_out_unless_they_are_asked_for(any_api: Api) -> None:
    await any_api.dead(payload={"to": "ann"})
    (small,) = (await any_api.call("GET", "/v1/jobs")).json()["jobs"]
    assert small["payload"] is None
    (whole,) = (await any_api.call("GET", "/v1/jobs?fields=payload&fields=result")).json()["jobs"]
    assert whole["payload"] == {"to": "ann"}
    assert (await any_api.call("GET", "/v1/jobs?fields=everything")).status_code == 422


async def test_a_page_is_bounded_in_bytes(any_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_BYTES", 20_000)
    monkeypatch.setattr(pages, "AT_ONCE", 3)
    ids = [await any_api.submit({"to": "a" * 5_000}) for _ in range(7)]
    found: list[str] = []
    cursor, counts = None, []
    while True:
        params: dict[str, Any] = {"fields": "payload", "limit": 500} | ({"cursor": cursor} if cursor else {})
        page = (await any_api.call("GET", "/v1/jobs", params=params)).json()
        found += [job["id"] for job in page["jobs"]]
        counts.append(len(page["jobs"]))
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == ids[::-1]
    assert max(counts) <= 3
    assert len((await any_api.call("GET", "/v1/jobs", params={"limit": 500})).json()["jobs"]) == 7


@pytest.mark.parametrize("scope", ["forever", "window"])
async def test_a_key_outlives_the_record_of_its_job(any_api: Api, scope: str) -> None:
    keyed: dict[str, Any] = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme", "idempotency_key": "k"}
    keyed |= {"idempotency_scope": scope} | ({"idempotency_window": 600.0} if scope == "window" else {})
    first = await any_api.dead(**{name: value for name, value in keyed.items() if name not in ("type", "payload")})
    assert (await any_api.call("DELETE", f"/v1/jobs/{first}")).status_code == 204
    again = await any_api.call("POST", "/v1/jobs", json=keyed)
    told = again.json()
    assert (again.status_code, told["id"], told["duplicate"], told["gone"]) == (202, first, True, True)
    assert (told["state"], told["estimated_start"]) == (None, None)
    batch = await any_api.call("POST", "/v1/jobs/batch", json={"jobs": [{**keyed, "idempotency_key": "other"}, keyed]})
    results = batch.json()["results"]
    assert [(item["status"], item["job"]["gone"]) for item in results] == [(202, False), (202, True)]


async def test_a_key_that_may_only_read_stores_no_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    reserved: list[Any] = []
    reserve = api.store.responses.reserve

    async def counted(*given: Any, **more: Any) -> Any:
        reserved.append(given)
        return await reserve(*given, **more)

    monkeypatch.setattr(api.store.responses, "reserve", counted)
    key = await api.key("read")
    job = {"type": "mail", "payload": {"to": "ann"}}
    for path, body in (("/v1/jobs", job), ("/v1/schedules", {}), (f"/v1/jobs/{await api.submit()}/cancel", {})):
        answer = await api.call("POST", path, key, json=body, headers={"Idempotency-Key": "a"})
        assert answer.status_code == 403
    assert reserved == []
    await api.call("POST", "/v1/jobs", json=job, headers={"Idempotency-Key": "a"})
    assert len(reserved) == 1


async def test_a_key_whose_jobs_are_refused_is_refused_unread_for_a_while(api: Api) -> None:
    await set_depth(api.store, "tenant", "acme", 0, Operator("tests"))
    service = api.asgi.state.service
    now = time.monotonic()
    service.allowance._clock = lambda: now
    noisy, quiet = await api.key("enqueue", tenant="acme"), await api.key("enqueue", tenant="rival")
    job = {"type": "mail", "payload": {"to": "ann"}}
    batch = {"jobs": [job] * 1_000}
    assert (await api.call("POST", "/v1/jobs/batch", noisy, json=batch)).status_code == 429
    unread = await api.call("POST", "/v1/jobs/batch", noisy, content=b"not read", headers={"Content-Type": "text/x"})
    assert (unread.status_code, unread.json()["code"]) == (429, "TENANT_QUEUE_FULL")
    assert int(unread.headers["retry-after"]) >= 1
    assert (await api.call("POST", "/v1/jobs", quiet, json=job)).status_code == 202
    assert (await api.call("POST", "/v1/jobs", json={**job, "tenant": "rival"})).status_code == 202
    await set_depth(api.store, "tenant", "acme", 10, Operator("tests"))
    now += 0.6
    await asyncio.sleep(0)
    assert (await api.call("POST", "/v1/jobs", noisy, content=b"{}")).status_code == 415, "it is read again"


async def test_a_revoked_key_loses_a_busy_stream_at_once() -> None:
    async with served(MEMORY) as api:
        key = await api.key("read")
        job_id = await api.submit()
        claimed = await claim_one(api.store, new_lease(), LANE)

        async def busy() -> None:
            for number in range(100_000):
                run = RunReport(job_id, claimed.fence, *claimed.lease, float(number), 100_000.0, "")
                await api.store.run_state.report_progress([run])
                await asyncio.sleep(0.02)

        working = asyncio.create_task(busy())
        try:
            async with aclosing(events_of(api, job_id, key)) as events:
                await anext(events)
                await api.call("POST", f"/v1/keys/{key[4:14]}/revoke")
                revoked = time.monotonic()
                async with asyncio.timeout(30):
                    async for _ in events:
                        pass
                assert time.monotonic() - revoked < 10, "it ended by the clock, though events came all the time"
        finally:
            working.cancel()
            await asyncio.wait([working])


async def test_greedy_keys_leave_seats_for_the_next() -> None:
    async with served(MEMORY, api_followers=8) as api:
        job_id = await api.submit()
        streams: list[AsyncIterator[Any]] = []

        async def seats_of(key: str) -> int:
            taken = 0
            while True:
                answer = await api.call("GET", f"/v1/jobs/{job_id}/wait?timeout=0.01", key)
                if answer.status_code == 429:
                    return taken
                stream = events_of(api, job_id, key)
                await anext(stream)
                streams.append(stream)
                taken += 1
                await until_followed(api, len(streams))

        try:
            assert [await seats_of(await api.key("read")) for _ in range(3)] == [4, 2, 1]
            two = [await api.key("read", tenant="acme") for _ in range(2)]
            assert [await seats_of(key) for key in two] == [1, 0], "the keys of one tenant count together"
        finally:
            for stream in streams:
                await stream.aclose()  # type: ignore[attr-defined]


async def test_pages_are_isolated_from_other_origins(api: Api) -> None:
    for path in ("/dashboard/", "/v1/types", "/healthz"):
        answer = await api.call("GET", path)
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_session_cannot_be_guessed_without_end(api: Api) -> None:
    codes = set()
    for number in range(300):
        cookie = {"Cookie": f"fairlead_session={number}"}
        codes.add((await api.http.get("/dashboard/session", headers=cookie)).status_code)
    assert codes == {401, 429}


async def test_a_mounted_dashboard_finds_its_files_and_its_api(api: Api) -> None:
    outer = Starlette(routes=[Mount("/jobs-api", api.asgi)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=outer), base_url="http://api") as http:
        assert (await http.get("/jobs-api/")).headers["location"] == "/jobs-api/dashboard/"
        assert (await http.get("/jobs-api/dashboard")).headers["location"] == "/jobs-api/dashboard/"
        page = await http.get("/jobs-api/dashboard/jobs/some-job")
        if "<base" in page.text:
            assert '<base href="/jobs-api/dashboard/" />' in page.text
        ours = {"X-Fairlead-Dashboard": "1"}
        signed = await http.post("/jobs-api/dashboard/session", json={"key": api.admin}, headers=ours)
        assert "Path=/jobs-api" in signed.headers["set-cookie"]
        assert (await http.get("/jobs-api/v1/types")).status_code == 200


async def test_no_name_can_lead_elsewhere_in_a_path(api: Api) -> None:
    job = {"type": "mail", "payload": {"to": "ann"}}
    for name in ("x/../../pools/short", "a/b", "..", ".", "x/y"):
        assert (await api.call("POST", "/v1/jobs", json={**job, "pool": name})).status_code == 422
        assert (await api.call("POST", "/v1/jobs", json={**job, "tenant": name})).status_code == 422
        body = json.dumps({"value": {"wait": 1}})
        path = f"/v1/settings/pool/{name.replace('/', '%2F')}"
        answer = await api.call("PUT", path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (404, 405, 422), (name, answer.text)


async def test_a_tenants_key_names_no_pool_that_is_not_there(any_api: Api) -> None:
    key = await any_api.key("enqueue", "operate", tenant="acme")
    job = {"type": "mail", "payload": {"to": "ann"}}
    schedule = {"name": "acme:nightly", "expression": "@daily", "type": "mail", "payload": {"to": "ann"}}
    hook = {"name": "hook", "url": "https://example.org/hook"}
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/v1/jobs", job), ("POST", "/v1/schedules", schedule), ("POST", "/v1/callbacks", hook),
    ]  # fmt: skip
    for method, path, body in asked:
        refused = await any_api.call(method, path, key, json={**body, "pool": "made-up"})
        assert (refused.status_code, refused.json()["code"]) == (422, "UNKNOWN_POOL"), path
        assert "no worker serves it" in refused.json()["detail"]
    batch = await any_api.call("POST", "/v1/jobs/batch", key, json={"jobs": [{**job, "pool": "made-up"}, job]})
    assert [item["status"] for item in batch.json()["results"]] == [422, 202]
    changed = await any_api.call("PATCH", "/v1/callbacks/hook", key, json={"pool": "made-up"})
    assert changed.json()["code"] == "UNKNOWN_POOL"
    assert (await any_api.call("POST", "/v1/jobs", json={**job, "pool": "made-up"})).status_code == 202, (
        "an operator may"
    )


async def test_a_tenants_key_may_name_a_pool_that_is_declared_or_served(api: Api) -> None:
    key = await api.key("enqueue", tenant="acme")
    body = {"type": "mail", "payload": {"to": "ann"}}
    await set_pool(api.store, "set-up", {"wait": 1.0}, Operator("ada"))
    await api.store.workers.register(replace(worker_info(new_lease().owner), pools=("served",)), 60.0)
    for pool in ("short", "set-up", "served"):
        assert (await api.call("POST", "/v1/jobs", key, json={**body, "pool": pool})).status_code == 202, pool
