"""Dead letters, types, workers, figures, pauses, the audit and keys over HTTP."""

import json
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fairlead.core.fairness.run_times import RunCount, bucket_of
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.pools import PLACE
from fairlead.core.protection.controls import Change
from fairlead.handlers.spec import declare
from fairlead.runtime.operator import Operator
from tests.api.conftest import Api
from tests.contract.making import new_lease, worker_info
from tests.support.settings import set_pool

WHY = {"reason": "mended"}


async def ask(api: Api, method: str, path: str, status: int = 200, **more: Any) -> Any:
    answer = await api.call(method, path, **more)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def test_dead_letters_are_listed_grouped_and_shown(any_api: Api) -> None:
    ids = [await any_api.dead(), await any_api.dead()]
    page = await ask(any_api, "GET", "/v1/jobs", params={"states": "dead", "limit": 1})
    assert page["jobs"][0]["id"] == ids[1]
    rest = await ask(any_api, "GET", "/v1/jobs", params={"states": "dead", "cursor": page["cursor"]})
    assert [job["id"] for job in rest["jobs"]] == [ids[0]]
    (group,) = (await ask(any_api, "GET", "/v1/dead-letters/groups"))["groups"]
    assert (group["count"], group["type"], group["error_type"]) == (2, "mail", "ValueError")
    found = await ask(any_api, "GET", "/v1/jobs", params={"fingerprint": group["fingerprint"]})
    assert len(found["jobs"]) == 2
    assert (await ask(any_api, "GET", f"/v1/jobs/{ids[0]}"))["attempts"][0]["ending"] == "failed"


async def test_a_dead_letter_is_mended_and_replayed(any_api: Api) -> None:
    job_id = await any_api.dead()
    body = {"payload": {"to": "bob"}, **WHY}
    assert (await ask(any_api, "PATCH", f"/v1/jobs/{job_id}", json=body))["payload"] == {"to": "bob"}
    await ask(any_api, "PATCH", f"/v1/jobs/{job_id}", 422, json={"payload": {"to": 5}})
    replayed = await ask(any_api, "POST", f"/v1/jobs/{job_id}/replay", json={"payload": {"to": "eve"}, **WHY})
    assert (replayed["state"], replayed["payload"], replayed["replays"]) == ("ready", {"to": "eve"}, 1)
    await ask(any_api, "POST", f"/v1/jobs/{job_id}/replay", 409, json={})
    timeline = (await ask(any_api, "GET", f"/v1/jobs/{job_id}"))["timeline"]
    assert [moment["what"] for moment in timeline][-2:] == ["edited", "replayed"]
    assert timeline[-1]["by"] == f"key {any_api.admin[4:14]} (tests)"


async def test_many_are_replayed_cancelled_and_purged(any_api: Api) -> None:
    first, second, third = [await any_api.dead() for _ in range(3)]
    done = await ask(any_api, "POST", "/v1/dead-letters/replay", json={"ids": [first], **WHY})
    assert done == {"done": [first], "refused": []}
    again = await ask(any_api, "POST", "/v1/dead-letters/replay", json={"ids": [first], **WHY})
    assert (again["done"], again["refused"][0]["code"]) == ([], "ILLEGAL_MOVE")
    body = {"filter": {"type": "mail"}, "limit": 1, **WHY}
    assert (await ask(any_api, "POST", "/v1/dead-letters/cancel", json=body))["done"] == [third]
    purged = await ask(any_api, "POST", "/v1/dead-letters/purge", json={"filter": {}, "older_than": 0.0, **WHY})
    assert purged == {"removed": 1, "would_remove": None, "refused": []}
    await ask(any_api, "GET", f"/v1/jobs/{second}", 404)


async def test_dead_letters_are_purged_by_their_ids(any_api: Api) -> None:
    first, second = [await any_api.dead() for _ in range(2)]
    dry = {"dry_run": True, **WHY}
    would = await ask(any_api, "POST", "/v1/dead-letters/purge", json={"ids": [first, second], **dry})
    assert would == {"removed": 0, "would_remove": 2, "refused": []}
    would = await ask(any_api, "POST", "/v1/dead-letters/purge", json={"filter": {}, "older_than": 0.0, **dry})
    assert would == {"removed": 0, "would_remove": 2, "refused": []}
    purged = await ask(any_api, "POST", "/v1/dead-letters/purge", json={"ids": [first], **WHY})
    assert purged == {"removed": 1, "would_remove": None, "refused": []}
    again = await ask(any_api, "POST", "/v1/dead-letters/purge", json={"ids": [first], **WHY})
    assert (again["removed"], again["refused"][0]["code"]) == (0, "JOB_NOT_FOUND")
    await ask(any_api, "GET", f"/v1/jobs/{first}", 404)
    rival = await any_api.key("operate", tenant="rival")
    foreign = await ask(any_api, "POST", "/v1/dead-letters/purge", key=rival, json={"ids": [second], **WHY})
    assert (foreign["removed"], foreign["refused"][0]["code"]) == (0, "JOB_NOT_FOUND")
    await ask(any_api, "GET", f"/v1/jobs/{second}")
    (newest,) = (await ask(any_api, "GET", "/v1/audit", params={"job_id": first}))["entries"]
    assert (newest["action"], newest["details"]["jobs"]) == ("purge", [first])
    await ask(any_api, "DELETE", f"/v1/jobs/{second}", 404, key=rival)
    await ask(any_api, "DELETE", f"/v1/jobs/{second}", 204, json=WHY)
    await ask(any_api, "DELETE", f"/v1/jobs/{second}", 404)
    await ask(any_api, "DELETE", f"/v1/jobs/{await any_api.submit()}", 409)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("replay", {"ids": ["x"], **WHY}),
        ("replay", {**WHY}),
        ("replay", {"ids": ["01920000-0000-7000-8000-000000000000"], "filter": {}, **WHY}),
        ("cancel", {"filter": {}}),
        ("purge", {"filter": {}, "older_than": "1d", **WHY}),
        ("purge", {"filter": {}, **WHY}),
        ("purge", {"ids": ["01920000-0000-7000-8000-000000000000"], "older_than": 5.0, **WHY}),
        ("purge", {"older_than": 5.0, **WHY}),
        ("replay-in-stages", {"filter": {}, "patience": 61, **WHY}),
    ],
)
async def test_what_is_not_clear_is_refused(api: Api, path: str, body: dict[str, Any]) -> None:
    await ask(api, "POST", f"/v1/dead-letters/{path}", 422, json=body)


async def test_a_replay_in_stages_stops_where_it_fails_again(api: Api) -> None:
    for _ in range(3):
        await api.dead()
    body = {"filter": {}, "patience": 0.01, **WHY}
    report = await ask(api, "POST", "/v1/dead-letters/replay-in-stages", json=body)
    assert (report["revived"], report["stages"][0]["unfinished"]) == (1, 1)
    assert "worker" in report["stopped"]


def events_of(text: str) -> list[tuple[str, Any]]:
    """The names and documents of server-sent events."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


async def test_a_replay_in_stages_tells_how_it_goes(any_api: Api) -> None:
    for _ in range(3):
        await any_api.dead()
    assert await ask(any_api, "GET", "/v1/dead-letters/count", params={"type": "mail"}) == {"count": 3}
    long_ago = {"finished_before": "2020-01-01T00:00:00Z"}
    assert await ask(any_api, "GET", "/v1/dead-letters/count", params=long_ago) == {"count": 0}
    path = "/v1/dead-letters/replay-in-stages/stream"
    answer = await any_api.call("POST", path, json={"filter": {"type": "mail"}, "patience": 0.2, **WHY})
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events_of(answer.text)
    assert told[0] == ("begun", {"total": 3})
    assert ("progress", {"number": 1, "revived": 1, "live": 1}) in told
    assert told[-2][0] == "stage"
    assert told[-2][1]["unfinished"] == 1
    assert told[-1][0] == "report"
    assert "worker" in told[-1][1]["stopped"]
    assert await ask(any_api, "GET", "/v1/dead-letters/count") == {"count": 2}


async def test_a_replay_ends_when_the_server_does(api: Api) -> None:
    await api.dead()
    api.asgi.state.service.feed.close()
    body = {"filter": {}, "patience": 60.0, **WHY}
    answer = await api.call("POST", "/v1/dead-letters/replay-in-stages/stream", json=body)
    assert "report" not in dict(events_of(answer.text))


async def test_all_that_fit_run_now_or_get_a_priority(any_api: Api) -> None:
    for _ in range(2):
        await any_api.submit(run_in=3600.0)
    waiting = await any_api.submit(tenant="rival")
    body = {"filter": {"tenant": "acme"}, **WHY}
    assert await ask(any_api, "POST", "/v1/jobs/run-now", json=body) == {"changed": 2}
    assert await ask(any_api, "GET", "/v1/jobs/count") == {"states": {"ready": 3}}
    body = {"filter": {"tenant": "rival"}, "priority": "critical", **WHY}
    assert await ask(any_api, "POST", "/v1/jobs/set-priority", json=body) == {"changed": 1}
    assert (await ask(any_api, "GET", f"/v1/jobs/{waiting}"))["priority"] == "critical"
    key = await any_api.key("operate", tenant="acme")
    assert (await any_api.call("POST", "/v1/jobs/set-priority", key, json=body)).status_code == 403


async def test_when_a_schedule_would_fire(api: Api) -> None:
    params: dict[str, Any] = {"expression": "0 6 * * *", "tz": "Europe/Berlin", "count": 3}
    fires = (await ask(api, "GET", "/v1/fires", params=params))["fires"]
    assert len(fires) == 3
    assert {datetime.fromisoformat(at).astimezone(ZoneInfo("Europe/Berlin")).hour for at in fires} == {6}
    wrong = await ask(api, "GET", "/v1/fires", 422, params={"expression": "0 99 * * *"})
    assert wrong["code"] == "CONFIG_ERROR"


async def test_types(any_api: Api) -> None:
    (found,) = (await ask(any_api, "GET", "/v1/types"))["types"]
    assert (found["name"], found["pool"]) == ("mail", "short")
    assert found["payload_schema"]["properties"]["to"]["type"] == "string"
    assert (found["place"], found["runs"]) == ("short", None)
    shown = await ask(any_api, "GET", "/v1/types/mail")
    assert {**found, "events": []} == shown
    assert found["histogram"] == []
    assert (await ask(any_api, "GET", "/v1/types/b", 404))["code"] == "UNKNOWN_TYPE"


async def test_a_type_shows_how_long_it_runs_and_what_was_done_to_it(any_api: Api) -> None:
    counts = [RunCount("mail", bucket_of(0.5), 90, 45.0), RunCount("mail", bucket_of(4.0), 10, 40.0)]
    await any_api.store.shares.record_usage([], [*counts, RunCount("other", bucket_of(9.0), 5, 45.0)])
    move = {"old": "short", "new": "medium", "why": "10 of 100 runs were longer"}
    note = AuditNote("fairlead classify", "move", "type mail", move)
    await any_api.store.controls.change([Change(PLACE, "mail", {"pool": "medium"})], note)
    await ask(any_api, "PUT", "/v1/settings/pause/type:mail", json=WHY)
    (listed,) = (await ask(any_api, "GET", "/v1/types"))["types"]
    assert (listed["pool"], listed["place"]) == ("short", "medium")
    assert listed["runs"] == {"count": 100, "p50": 0.5625, "p95": 4.5, "p99": 4.5}
    shown = await ask(any_api, "GET", "/v1/types/mail")
    bars = [(bar["begin"], bar["runs"]) for bar in shown["histogram"]]
    assert bars == [(0.5, 90), (0.75, 0), (1.0, 0), (1.5, 0), (2.0, 0), (3.0, 0), (4.0, 10)]
    paused, moved = shown["events"]
    assert (paused["what"], paused["why"], paused["new"]) == ("pause", "mended", None)
    assert {**move, "what": "move", "by": "fairlead classify", "at": moved["at"]} == moved
    bound = await any_api.key("read", tenant="acme")
    found = (await any_api.call("GET", "/v1/types/mail", bound)).json()
    assert (found["runs"], found["histogram"], found["events"]) == (None, None, None)
    (found,) = (await any_api.call("GET", "/v1/types", bound)).json()["types"]
    assert found["runs"] is None


async def test_the_attempts_of_a_type_follow_the_settings_of_its_pool(any_api: Api) -> None:
    plain = declare("plain", _nothing, pool="short", version=1, timeout=None, retry=None, retention=None, upgrade=None)
    await any_api.store.types.register([plain.job_type()])
    await set_pool(any_api.store, "medium", {"attempts": 4, "timeout": 90.0}, Operator("ada"))

    async def seen(name: str) -> tuple[float | None, int]:
        found = await ask(any_api, "GET", f"/v1/types/{name}")
        return found["timeout"], len(found["retries"]["application"]["attempts"])

    assert (await seen("plain"), await seen("mail")) == ((None, 5), (None, 3))
    moves = [Change(PLACE, name, {"pool": "medium"}) for name in ("plain", "mail")]
    await any_api.store.controls.change(moves, AuditNote("fairlead classify", "move", "type plain", {}))
    assert (await seen("plain"), await seen("mail")) == ((90, 4), (90, 3))


async def _nothing() -> None: ...


async def test_workers_are_listed_and_directed(any_api: Api) -> None:
    worker = new_lease().owner
    await any_api.store.workers.register(worker_info(worker), 30)
    (found,) = (await ask(any_api, "GET", "/v1/workers"))["workers"]
    assert (found["id"], found["state"], found["live"]) == (worker, "active", True)
    for action, state in (("drain", "draining"), ("stop", "stopping")):
        told = await ask(any_api, "POST", f"/v1/workers/{worker}/{action}", 202, json=WHY)
        assert told["state"] == state
        assert (await ask(any_api, "GET", "/v1/workers"))["workers"][0]["state"] == state
    assert (await ask(any_api, "POST", "/v1/workers/x/drain", 404))["code"] == "WORKER_NOT_FOUND"


async def test_figures(any_api: Api) -> None:
    await any_api.submit()
    await any_api.submit(run_in=60.0)
    await any_api.store.workers.register(worker_info(new_lease().owner), 30)
    pools = {pool["pool"]: pool for pool in (await ask(any_api, "GET", "/v1/status"))["pools"]}
    assert pools["short"]["jobs"] == {"ready": 1, "scheduled": 1}
    assert pools["short"]["oldest_ready"] >= 0
    assert (pools["default"]["workers"], pools["default"]["slots"]) == (1, 10)


async def test_alerts(any_api: Api) -> None:
    well = (await ask(any_api, "GET", "/v1/status"))["health"]
    assert (well["level"], well["alerts"]) == ("ok", [])
    await any_api.submit()
    found = (await ask(any_api, "GET", "/v1/status"))["health"]
    (alert,) = found["alerts"]
    assert (found["level"], alert["level"], alert["code"]) == ("problem", "problem", "NO_WORKER")
    assert alert["sentence"] == found["sentence"]


async def test_pauses(any_api: Api) -> None:
    path = "/v1/settings/pause/type:mail"
    assert (await ask(any_api, "PUT", path, json=WHY))["state"]["why"] == "mended"
    (found,) = (await ask(any_api, "GET", "/v1/settings/pause"))["settings"]
    assert (found["name"], found["state"]["why"]) == ("type:mail", "mended")
    await ask(any_api, "DELETE", path, 204, json=WHY)
    assert (await ask(any_api, "GET", "/v1/settings/pause"))["settings"] == []


async def test_keys_are_shown_once(any_api: Api) -> None:
    body = {"name": "shop", "scopes": ["enqueue", "read"], "tenant": "acme", "expires_in": 60.0}
    made = await ask(any_api, "POST", "/v1/keys", 201, json=body)
    assert (made["name"], made["scopes"], made["tenant"]) == ("shop", ["enqueue", "read"], "acme")
    text = made.pop("key")
    assert (await any_api.call("GET", "/v1/jobs", text)).status_code == 200
    assert await ask(any_api, "GET", f"/v1/keys/{made['id']}") == made
    page = await ask(any_api, "GET", "/v1/keys")
    assert made in page["keys"]
    assert text[15:] not in str(page) + str(await ask(any_api, "GET", "/v1/audit"))
    ended = await ask(any_api, "POST", f"/v1/keys/{made['id']}/revoke")
    assert (ended["live"], ended["revoked_at"] is None) == (False, False)
    await ask(any_api, "GET", "/v1/keys/nobody", 404)


async def test_when_a_key_was_used_is_written_now_and_then(any_api: Api) -> None:
    key = await any_api.key("read")
    await any_api.call("GET", "/v1/types", key)
    assert (await ask(any_api, "GET", f"/v1/keys/{key[4:14]}"))["last_used_at"] is None
    await any_api.asgi.state.service.keys.write_uses()
    assert (await ask(any_api, "GET", f"/v1/keys/{key[4:14]}"))["last_used_at"] is not None


async def test_the_audit_has_pages_and_can_be_verified(any_api: Api) -> None:
    for _ in range(3):
        await any_api.key("read")
    page = await ask(any_api, "GET", "/v1/audit", params={"limit": 3})
    assert [entry["action"] for entry in page["entries"]] == ["create key"] * 3
    rest = await ask(any_api, "GET", "/v1/audit", params={"cursor": page["cursor"]})
    assert [entry["id"] for entry in rest["entries"]] == [1]
    found = await ask(any_api, "GET", "/v1/audit/verification")
    assert (found["sound"], found["entries"], found["flaws"]) == (True, 4, [])
    assert len(found["hash"]) == 64


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nope", 404, "NOT_FOUND"),
        ("GET", "/v1/jobs/", 404, None),
        ("PUT", "/v1/jobs", 405, "METHOD_NOT_ALLOWED"),
        ("TRACE", "/v1/jobs", 405, "METHOD_NOT_ALLOWED"),
    ],
)
async def test_what_there_is_not(api: Api, method: str, path: str, status: int, code: str | None) -> None:
    answer = await api.call(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert code is None or answer.json()["code"] == code
    if status == 405:
        assert "POST" in answer.headers["allow"] or "GET" in answer.headers["allow"]
