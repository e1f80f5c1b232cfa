"""Callback endpoints over HTTP: making, rotating, looking at what was sent, and who may see which."""

from typing import Any

import pytest

from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.web.callbacks import TYPE
from tests.api.conftest import LANE, Api, open_api
from tests.contract.making import claim_one, done, new_lease

HOOK = "https://hooks.example.org/fairlead"
MADE = {"name": "orders", "url": HOOK}


async def ask(api: Api, method: str, path: str, status: int = 200, **more: Any) -> Any:
    answer = await api.call(method, path, **more)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def test_an_endpoint_is_made_shown_changed_and_removed(any_api: Api) -> None:
    made = await ask(any_api, "POST", "/v1/callbacks", 201, json={**MADE, "tenant": "acme", "events": ["job.dead"]})
    assert made.pop("secret").startswith("whsec_")
    assert (made["tenant"], made["events"], made["enabled"], made["pool"]) == ("acme", ["job.dead"], True, "short")
    whose = {"tenant": "acme"}
    assert await ask(any_api, "GET", "/v1/callbacks/orders", params=whose) == made
    await ask(any_api, "GET", "/v1/callbacks/orders", 404)
    await ask(any_api, "POST", "/v1/callbacks", 409, json={**MADE, "tenant": "acme"})
    body = {"enabled": False, "url": HOOK + "/2", "reason": "moved"}
    changed = await ask(any_api, "PATCH", "/v1/callbacks/orders", params=whose, json=body)
    assert (changed["enabled"], changed["url"], changed["events"]) == (False, HOOK + "/2", ["job.dead"])
    await ask(any_api, "DELETE", "/v1/callbacks/orders", 204, params=whose, json={"reason": "over"})
    await ask(any_api, "GET", "/v1/callbacks/orders", 404, params=whose)
    actions = [entry.action for entry in await any_api.store.audit.read(3)]
    assert actions == ["remove callback", "change callback", "add callback"]


async def test_a_secret_is_in_no_answer_but_its_own(any_api: Api) -> None:
    repeated = {"Idempotency-Key": "once"}
    first = (await ask(any_api, "POST", "/v1/callbacks", 201, json=MADE, headers=repeated))["secret"]
    rotated = await ask(any_api, "POST", "/v1/callbacks/orders/rotate-secret", json={"overlap": 60.0}, headers=repeated)
    assert rotated["secrets"] == 2
    texts = [
        (await any_api.call("GET", path)).text
        for path in ("/v1/callbacks", "/v1/callbacks/orders", "/v1/callbacks/orders/deliveries", "/v1/audit")
    ]
    assert not [text for text in texts if first in text or rotated["secret"] in text or "whsec_" in text]
    ended = await ask(any_api, "POST", "/v1/callbacks/orders/rotate-secret", json={"overlap": 0})
    assert ended["secrets"] == 1


async def test_endpoints_are_listed_a_page_at_a_time(api: Api) -> None:
    for tenant, name in ((None, "b"), ("acme", "c"), ("acme", "a"), ("x:y", "a")):
        await ask(api, "POST", "/v1/callbacks", 201, json={"name": name, "url": HOOK, "tenant": tenant})
    found: list[Any] = []
    cursor: str | None = None
    while True:
        given = {"limit": "1"} | ({} if cursor is None else {"cursor": cursor})
        page = await ask(api, "GET", "/v1/callbacks", params=given)
        found += [(item["tenant"], item["name"]) for item in page["callbacks"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == [(None, "b"), ("acme", "a"), ("acme", "c"), ("x:y", "a")]
    own = await ask(api, "GET", "/v1/callbacks", params={"tenant": "acme"})
    assert [item["name"] for item in own["callbacks"]] == ["a", "c"]


async def test_a_tenants_key_has_endpoints_of_its_own(api: Api) -> None:
    key = await api.key("operate", "enqueue", tenant="acme")
    await ask(api, "POST", "/v1/callbacks", 201, json=MADE)
    await ask(api, "POST", "/v1/callbacks", 201, json={**MADE, "tenant": "rival"})
    await ask(api, "GET", "/v1/callbacks/orders", 404, key=key)
    assert (await ask(api, "GET", "/v1/callbacks", key=key))["callbacks"] == []
    made = await ask(api, "POST", "/v1/callbacks", 201, key=key, json=MADE)
    assert made["tenant"] == "acme"
    assert [item["tenant"] for item in (await ask(api, "GET", "/v1/callbacks", key=key))["callbacks"]] == ["acme"]
    refused = await ask(api, "GET", "/v1/callbacks/orders", 403, key=key, params={"tenant": "rival"})
    assert refused["code"] == "TENANT_FORBIDDEN"
    await ask(api, "DELETE", "/v1/callbacks/orders", 204, key=key)
    assert len((await ask(api, "GET", "/v1/callbacks"))["callbacks"]) == 2


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"url": "http://hooks.example.org/"}, "EGRESS_REFUSED"),
        ({"url": "https://127.0.0.1/"}, "EGRESS_REFUSED"),
        ({"url": "https://[::1]/"}, "EGRESS_REFUSED"),
        ({"url": "https://ann:pw@hooks.example.org/"}, "EGRESS_REFUSED"),
        ({"url": "https://hooks.example.org:22/"}, "EGRESS_REFUSED"),
        ({"url": "https://a b/"}, "INVALID_REQUEST"),
        ({"name": "a/b"}, "INVALID_REQUEST"),
        ({"events": []}, "INVALID_REQUEST"),
        ({"events": ["ping"]}, "INVALID_REQUEST"),
        ({"secret": "mine"}, "INVALID_REQUEST"),
    ],
)
async def test_what_cannot_be_called_is_refused(api: Api, change: dict[str, Any], code: str) -> None:
    assert (await ask(api, "POST", "/v1/callbacks", 422, json={**MADE, **change}))["code"] == code


async def test_settings_can_allow_an_address() -> None:
    allowed: dict[str, Any] = {"callback_networks": "10.0.0.0/8, 127.0.0.0/8", "callback_ports": "443,8080"}
    async with open_api("sqlite:///:memory:", callback_http="true", **allowed) as api:
        await ask(api, "POST", "/v1/callbacks", 201, json={"name": "inside", "url": "http://10.1.2.3:8080/"})
        await ask(api, "POST", "/v1/callbacks", 422, json={"name": "other", "url": "http://192.168.0.1:8080/"})


async def test_a_job_names_its_endpoint(any_api: Api) -> None:
    job = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme", "callback": "orders"}
    refused = await ask(any_api, "POST", "/v1/jobs", 422, json=job)
    assert refused["code"] == "UNKNOWN_CALLBACK"
    await ask(any_api, "POST", "/v1/callbacks", 201, json={**MADE, "tenant": "rival"})
    await ask(any_api, "POST", "/v1/jobs", 422, json=job)
    await ask(any_api, "POST", "/v1/callbacks", 201, json={**MADE, "tenant": "acme"})
    job_id = (await ask(any_api, "POST", "/v1/jobs", 202, json=job))["id"]
    assert (await ask(any_api, "GET", f"/v1/jobs/{job_id}"))["callback"] == "orders"
    batch = await ask(any_api, "POST", "/v1/jobs/batch", json={"jobs": [job, {**job, "callback": "bills"}]})
    assert [item["status"] for item in batch["results"]] == [202, 422]
    claimed = await claim_one(any_api.store, new_lease(), LANE)
    assert claimed.id == job_id
    await any_api.store.jobs.settle([done(claimed)])
    (delivery,) = (await any_api.store.reader.list_jobs(JobFilter(type=TYPE), 10)).jobs
    assert (delivery.parent, delivery.tenant) == (job_id, "acme")
    await ask(any_api, "POST", "/v1/jobs", 422, json={"type": TYPE, "payload": {}})


async def test_a_ping_is_submitted_logged_and_repeated(any_api: Api) -> None:
    await ask(any_api, "POST", "/v1/callbacks", 201, json={**MADE, "tenant": "acme"})
    whose = {"tenant": "acme"}
    sent = await ask(any_api, "POST", "/v1/callbacks/orders/ping", 202, params=whose, json={})
    lane = Lane("short", "acme", TYPE, Priority.DEFAULT, 1, "fairlead.callback=acme:orders")
    assert (await claim_one(any_api.store, new_lease(), lane)).id == sent["delivery"]
    path = f"/v1/callbacks/orders/deliveries/{sent['delivery']}/redeliver"
    again = await ask(any_api, "POST", path, 202, params=whose, json={})
    assert again["message"] == sent["message"]
    assert again["delivery"] != sent["delivery"]
    await ask(any_api, "POST", path, 404, json={})
    job = await any_api.submit()
    await ask(any_api, "POST", f"/v1/callbacks/orders/deliveries/{job}/redeliver", 404, params=whose, json={})
    assert (await ask(any_api, "GET", "/v1/callbacks/orders/deliveries", params=whose))["deliveries"] == []
    await ask(any_api, "PATCH", "/v1/callbacks/orders", params=whose, json={"enabled": False})
    await ask(any_api, "POST", "/v1/callbacks/orders/ping", 409, params=whose, json={})
