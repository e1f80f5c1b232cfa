"""Jobs over HTTP, on every store: submitted, read, listed, changed, cancelled, tried again, explained."""

import asyncio
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.core.jobs.states import State
from fairlead.core.protection.backpressure import overload
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, Api
from tests.contract.making import claim_one, failed, new_lease, worker_info
from tests.support.settings import set_overload

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def later(hours: float = 1.0) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


async def read(api: Api, job_id: str) -> dict[str, Any]:
    answer = await api.call("GET", f"/v1/jobs/{job_id}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def test_a_job_is_there_when_the_answer_comes(any_api: Api) -> None:
    body = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme", "priority": "high"}
    answer = await any_api.call("POST", "/v1/jobs", json=body)
    assert answer.status_code == 202
    document = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{document['id']}"
    assert document == {
        "id": document["id"], "type": "mail", "tenant": "acme", "pool": "short", "priority": "high", "state": "ready",
        "duplicate": False, "gone": False, "shed": False, "deferred": None, "estimated_start": None,
    }  # fmt: skip
    found = await read(any_api, document["id"])
    assert (found["payload"], found["state"], found["priority"]) == ({"to": "ann"}, "ready", "high")
    assert [(moment["what"], moment["state"]) for moment in found["timeline"]] == [("enqueued", "ready")]


async def test_a_job_can_have_a_retry_policy_of_its_own(any_api: Api) -> None:
    policy = {"backoff": "fixed", "first": 10, "attempts": 3, "jitter": "equal", "max_age": 3600}
    record = await any_api.store.reader.read(await any_api.submit(retry=policy))
    assert record is not None
    assert json.loads(record.options or "")["retry"] == policy


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"first": 1, "delays": [1]}, "CONFIG_ERROR"),
        ({"attempts": 0}, "INVALID_REQUEST"),
        ({"backoff": "custom"}, "INVALID_REQUEST"),
        ({"forever": True}, "INVALID_REQUEST"),
    ],
)
async def test_a_retry_policy_that_cannot_work_is_refused(api: Api, policy: dict[str, Any], code: str) -> None:
    body = {"type": "mail", "payload": {"to": "ann"}, "retry": policy}
    answer = await api.call("POST", "/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    both = await api.call("POST", "/v1/jobs", json={**body, "retry": {}, "attempts": 3})
    assert both.json()["code"] == "INVALID_REQUEST"


async def test_a_duplicate_has_the_start_of_the_job_that_it_is(api: Api) -> None:
    await api.store.workers.register(replace(worker_info(new_lease().owner), pools=("short",)), 60.0)
    keyed = {"type": "mail", "payload": {"to": "ann"}, "idempotency_key": "k", "idempotency_scope": "forever"}
    first = (await api.call("POST", "/v1/jobs", json={**keyed, "run_in": 60})).json()
    second = (await api.call("POST", "/v1/jobs", json=keyed)).json()
    assert second["duplicate"]
    starts = [datetime.fromisoformat(told["estimated_start"]) for told in (first, second)]
    assert abs((starts[1] - starts[0]).total_seconds()) < 5
    await api.call("POST", f"/v1/jobs/{first['id']}/cancel")
    ended = (await api.call("POST", "/v1/jobs", json=keyed)).json()
    assert (ended["state"], ended["estimated_start"]) == ("cancelled", None)


async def test_an_overload_is_told_to_whom_it_concerns(any_api: Api) -> None:
    low = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme", "priority": "low"}
    await set_overload(any_api.store, overload(0, "shed", "default", "5m"), Operator("tests"))
    shed = await any_api.call("POST", "/v1/jobs", json=low)
    told = shed.json()
    assert (shed.status_code, told["shed"], told["state"], told["estimated_start"]) == (200, True, None, None)
    assert "location" not in shed.headers
    batch = await any_api.call("POST", "/v1/jobs/batch", json={"jobs": [low, {**low, "priority": "high"}]})
    results = batch.json()["results"]
    assert [(item["status"], item["job"]["shed"]) for item in results] == [(200, True), (202, False)]
    for gone in (told["id"], results[0]["job"]["id"]):
        assert (await any_api.call("GET", f"/v1/jobs/{gone}")).status_code == 404


async def test_a_job_that_was_put_off_says_so(any_api: Api) -> None:
    await set_overload(any_api.store, overload(0, "defer", "default", "5m"), Operator("tests"))
    body = {"type": "mail", "payload": {"to": "ann"}, "tenant": "acme", "priority": "low"}
    told = (await any_api.call("POST", "/v1/jobs", json=body)).json()
    assert (told["state"], told["deferred"], told["shed"]) == ("scheduled", 300.0, False)


async def test_every_option_reaches_the_job(any_api: Api) -> None:
    run_at, not_after = later(), later(2)
    parent = await any_api.submit()
    job_id = await any_api.submit(
        pool="long", run_at=run_at, not_after=not_after, idempotency_key="k", idempotency_scope="window",
        idempotency_window=60.0, timeout=5.0, attempts=7, parent=parent, exact=True,
    )  # fmt: skip
    found = await read(any_api, job_id)
    assert (found["state"], found["pool"], found["idempotency_key"]) == ("scheduled", "long", "k")
    assert (found["attempts_allowed"], found["timeout"]) == (7, 5.0)
    assert found["parent"] == parent
    for name, given in (("run_at", run_at), ("not_after", not_after)):
        assert datetime.fromisoformat(found[name]) == datetime.fromisoformat(given)
    record = await any_api.store.reader.read(job_id)
    assert record is not None
    assert '"timeout":5.0' in (record.options or "")
    assert '"attempts":7' in (record.options or "")


async def test_a_duplicate_is_the_job_that_is_there(any_api: Api) -> None:
    first = await any_api.submit(idempotency_key="k", priority="low")
    await any_api.store.jobs.settle([failed(await claim_one(any_api.store, new_lease(), LANE._replace(priority=3)))])  # type: ignore[arg-type]
    body = {"type": "mail", "payload": {"to": "bob"}, "tenant": "acme", "idempotency_key": "k"}
    again = (await any_api.call("POST", "/v1/jobs", json=body)).json()
    assert (again["id"], again["duplicate"], again["state"], again["priority"]) == (first, True, "retrying", "low")


async def test_where_a_worker_serves_it_a_start_is_expected(any_api: Api) -> None:
    worker = worker_info(new_lease().owner)
    info = type(worker)(worker.id, "h", 1, ("short",), ("mail",), 5, "1")
    await any_api.store.workers.register(info, 30)
    body = {"type": "mail", "payload": {"to": "ann"}}
    now = (await any_api.call("POST", "/v1/jobs", json=body)).json()["estimated_start"]
    assert abs(datetime.fromisoformat(now).timestamp() - time.time()) < 60
    run_at = later()
    then = (await any_api.call("POST", "/v1/jobs", json={**body, "run_at": run_at})).json()["estimated_start"]
    assert datetime.fromisoformat(then) == datetime.fromisoformat(run_at)


@pytest.mark.parametrize(
    ("change", "status", "code", "where"),
    [
        ({"type": "nope"}, 422, "UNKNOWN_TYPE", None),
        ({"payload": {"to": 5}}, 422, "INVALID_ARGUMENTS", None),
        ({"payload": {}}, 422, "INVALID_ARGUMENTS", None),
        ({"payload": {"to": "a\x00b"}}, 422, "UNSAFE_PAYLOAD", None),
        ({"payload": []}, 422, "INVALID_REQUEST", "body.payload"),
        ({"state": "succeeded"}, 422, "INVALID_REQUEST", "body.state"),
        ({"attempt": 3}, 422, "INVALID_REQUEST", "body.attempt"),
        ({"priority": "urgent"}, 422, "INVALID_REQUEST", "body.priority"),
        ({"tenant": "a b"}, 422, "INVALID_REQUEST", "body.tenant"),
        ({"run_in": "5"}, 422, "INVALID_REQUEST", "body.run_in"),
        ({"run_in": -1}, 422, "INVALID_REQUEST", "body.run_in"),
        ({"run_at": 5}, 422, "INVALID_REQUEST", "body.run_at"),
        ({"run_at": "2030-01-01T00:00:00"}, 422, "INVALID_REQUEST", "body.run_at"),
        ({"run_in": 1.0, "run_at": "2030-01-01T00:00:00Z"}, 422, "INVALID_REQUEST", "body"),
        ({"idempotency_window": 1.0}, 422, "INVALID_REQUEST", "body"),
        ({"attempts": True}, 422, "INVALID_REQUEST", "body.attempts"),
        ({"parent": "nobody"}, 422, "INVALID_REQUEST", "body.parent"),
    ],
)
async def test_what_does_not_fit_is_refused(
    api: Api, change: dict[str, Any], status: int, code: str, where: str | None
) -> None:
    answer = await api.call("POST", "/v1/jobs", json={"type": "mail", "payload": {"to": "ann"}, **change})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert [error["location"] for error in problem.get("errors", [])] == ([where] if where else [])
    assert not (await api.call("GET", "/v1/jobs")).json()["jobs"]


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b'{"type":NaN}', b"[" * 100_000, b'"\xff"', b"{}{}"])
async def test_what_is_not_json_is_refused(api: Api, body: bytes) -> None:
    for method, path in (("POST", "/v1/jobs"), ("PATCH", f"/v1/jobs/{await api.submit()}")):
        answer = await api.call(method, path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422), answer.text
        assert answer.json()["code"] in ("INVALID_JSON", "INVALID_REQUEST")


async def test_a_batch_accepts_and_refuses_each_on_its_own(any_api: Api) -> None:
    good = {"type": "mail", "payload": {"to": "ann"}}
    jobs = [good, {"type": "nope"}, {**good, "idempotency_key": "k"}, {**good, "idempotency_key": "k"}]
    answer = await any_api.call("POST", "/v1/jobs/batch", json={"jobs": jobs})
    results = answer.json()["results"]
    assert [item["status"] for item in results] == [202, 422, 202, 202]
    assert results[1]["problem"]["code"] == "UNKNOWN_TYPE"
    assert [item["job"]["duplicate"] for item in results if item["job"]] == [False, False, True]
    assert len((await any_api.call("GET", "/v1/jobs")).json()["jobs"]) == 2


async def test_a_batch_has_a_bound(api: Api) -> None:
    jobs = [{"type": "mail", "payload": {"to": "ann"}}] * 1_001
    assert (await api.call("POST", "/v1/jobs/batch", json={"jobs": jobs})).status_code == 422
    assert (await api.call("POST", "/v1/jobs/batch", json={"jobs": []})).status_code == 422


async def test_lists_are_filtered_and_go_on_at_the_cursor(any_api: Api) -> None:
    ids = [await any_api.submit(priority=word) for word in ("high", "low", "low")]
    later_id = await any_api.submit(run_in=100.0, idempotency_key="k")
    first = (await any_api.call("GET", "/v1/jobs", params={"limit": 3})).json()
    second = (await any_api.call("GET", "/v1/jobs", params={"limit": 3, "cursor": first["cursor"]})).json()
    assert [job["id"] for job in first["jobs"] + second["jobs"]] == [later_id, *reversed(ids)]
    assert second["cursor"] is None
    for params, expected in (
        ({"states": ["scheduled"]}, [later_id]),
        ({"priority": "low"}, ids[:0:-1]),
        ({"idempotency_key": "k"}, [later_id]),
        ({"key_contains": "k"}, [later_id]),
        ({"key_contains": "kk"}, []),
        ({"type": "other"}, []),
        ({"tenant": "acme", "pool": "short", "limit": 1}, [later_id]),
    ):
        found = (await any_api.call("GET", "/v1/jobs", params=params)).json()["jobs"]
        assert [job["id"] for job in found] == expected, params
    for params in ({"cursor": "x"}, {"tennant": "acme"}, {"finished_after": "5"}):
        assert (await any_api.call("GET", "/v1/jobs", params=params)).status_code == 422
    assert (await any_api.call("GET", "/v1/jobs", params={"limit": 501})).status_code == 422


async def test_a_job_that_failed_shows_how(any_api: Api) -> None:
    job_id = await any_api.dead()
    found = await read(any_api, job_id)
    assert (found["state"], found["error"]["type"], found["attempt"]) == ("dead", "ValueError", 1)
    (attempt,) = found["attempts"]
    assert (attempt["ending"], attempt["error"]["traceback"]) == ("failed", "Traceback ...")
    assert [moment["state"] for moment in found["timeline"]] == ["ready", "running", "dead"]


async def test_a_job_that_is_known_is_not_sent_again(any_api: Api) -> None:
    job_id = await any_api.submit()
    tag = (await any_api.call("GET", f"/v1/jobs/{job_id}")).headers["etag"]
    known = await any_api.call("GET", f"/v1/jobs/{job_id}", headers={"If-None-Match": f'"x", {tag}'})
    assert (known.status_code, known.content) == (304, b"")
    await any_api.call("PATCH", f"/v1/jobs/{job_id}", json={"priority": "low"})
    assert (await any_api.call("GET", f"/v1/jobs/{job_id}", headers={"If-None-Match": tag})).status_code == 200


async def test_a_waiting_job_is_changed_and_the_audit_says_by_whom(any_api: Api) -> None:
    job_id = await any_api.submit()
    change = {"priority": "critical", "run_at": later(), "payload": {"to": "bob"}, "reason": "wrong address"}
    answer = await any_api.call("PATCH", f"/v1/jobs/{job_id}", json=change)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["priority"], found["state"], found["payload"]) == ("critical", "scheduled", {"to": "bob"})
    (entry,) = (await any_api.call("GET", "/v1/audit", params={"job_id": job_id})).json()["entries"]
    assert entry["actor"] == f"key {any_api.admin[4:14]} (tests)"
    assert (entry["action"], entry["details"]["reason"]) == ("change", "wrong address")
    assert "bob" not in str(entry["details"])
    assert (await any_api.call("PATCH", f"/v1/jobs/{job_id}", json={"payload": {"to": 5}})).status_code == 422
    assert (await any_api.call("PATCH", f"/v1/jobs/{job_id}", json={})).json() == found
    assert len(await any_api.store.audit.read(10, job_id=job_id)) == 1


async def test_what_runs_is_not_changed(any_api: Api) -> None:
    job_id = await any_api.submit()
    await claim_one(any_api.store, new_lease(), LANE)
    answer = await any_api.call("PATCH", f"/v1/jobs/{job_id}", json={"priority": "low"})
    assert (answer.status_code, answer.json()["code"]) == (409, "ILLEGAL_MOVE")


async def test_cancelling(any_api: Api) -> None:
    job_id = await any_api.submit()
    answer = await any_api.call("POST", f"/v1/jobs/{job_id}/cancel", json={"reason": "not needed"})
    assert (answer.status_code, answer.json()) == (200, {"id": job_id, "state": "cancelled"})
    assert (await read(any_api, job_id))["state"] == "cancelled"
    assert (await any_api.call("POST", f"/v1/jobs/{job_id}/cancel")).status_code == 409
    (entry,) = await any_api.store.audit.read(10, job_id=job_id)
    assert (entry.action, "not needed" in entry.details) == ("cancel", True)
    running = await any_api.submit()
    await claim_one(any_api.store, new_lease(), LANE)
    asked = await any_api.call("POST", f"/v1/jobs/{running}/cancel", json={"grace": 5})
    assert asked.json() == {"id": running, "state": "running"}
    dead = await any_api.dead()
    assert (await any_api.call("POST", f"/v1/jobs/{dead}/cancel")).json()["state"] == "cancelled"


async def test_a_waiting_job_runs_now_and_a_dead_one_is_replayed(any_api: Api) -> None:
    dead, scheduled, ready = await any_api.dead(), await any_api.submit(run_in=500.0), await any_api.submit()
    for job_id, act, other in ((dead, "replay", "run-now"), (scheduled, "run-now", "replay")):
        assert (await any_api.call("POST", f"/v1/jobs/{job_id}/{other}")).status_code == 409
        answer = await any_api.call("POST", f"/v1/jobs/{job_id}/{act}", json={"reason": "mended"})
        assert (answer.status_code, answer.json()["state"]) == (200, "ready")
    assert (await any_api.call("POST", f"/v1/jobs/{ready}/run-now")).status_code == 409
    assert {entry.action for entry in await any_api.store.audit.read(10)} == {"replay", "run now", "create key"}


async def test_why_it_waits(any_api: Api) -> None:
    first, second = await any_api.submit(), await any_api.submit()
    scheduled = await any_api.submit(run_in=600.0)

    async def explained(job_id: str) -> dict[str, Any]:
        document: dict[str, Any] = (await any_api.call("GET", f"/v1/jobs/{job_id}/explain")).json()
        return document

    assert [reason["code"] for reason in (await explained(first))["reasons"]] == ["NO_WORKER", "NEXT_IN_LANE", "SHARE"]
    behind = (await explained(second))["reasons"][1]
    assert (behind["code"], behind["data"]["ahead"]) == ("BEHIND_OTHERS", 1)
    assert (await explained(scheduled))["reasons"][1]["code"] == "SCHEDULED"
    await any_api.call("PUT", "/v1/settings/pause/tenant:acme", json={"reason": "unpaid"})
    found = await explained(first)
    assert found["reasons"][0]["code"] == "CLOSED"
    assert "unpaid" in found["summary"]
    assert found["estimated_start"] is None


@pytest.mark.parametrize(("given", "kept"), [(TRACE, TRACE), ("nonsense", None), (TRACE.upper(), None)])
async def test_the_trace_context_stays_with_the_job(api: Api, given: str, kept: str | None) -> None:
    body = {"type": "mail", "payload": {"to": "ann"}}
    answer = await api.call("POST", "/v1/jobs", json=body, headers={"traceparent": given})
    assert (await read(api, answer.json()["id"]))["traceparent"] == kept


async def test_many_callers_share_few_commits(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    gatherer = api.asgi.state.service.client._sender
    sizes, enqueue = list[int](), api.store.jobs.enqueue

    async def slow(jobs: Any, *more: Any, **others: Any) -> Any:
        sizes.append(len(jobs))
        while len(sizes) == 1 and len(gatherer._waiting) < 49:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await enqueue(jobs, *more, **others)

    monkeypatch.setattr(api.store.jobs, "enqueue", slow)
    await asyncio.gather(*(api.submit() for _ in range(50)))
    assert sizes == [1, 49]


async def test_a_job_runs(api: Api) -> None:
    async with api.app.worker():
        job_id = await api.submit()
        answer = await api.call("GET", f"/v1/jobs/{job_id}/wait", params={"timeout": 60})
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["result"]) == (State.SUCCEEDED, "sent to ann")
