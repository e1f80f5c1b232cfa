"""The Idempotency-Key header: the first answer again, and nothing done twice."""

import asyncio
from typing import Any

import pytest

from tests.api.conftest import Api

BODY = {"type": "mail", "payload": {"to": "ann"}}


async def submit(api: Api, key: str, body: dict[str, Any] | None = None, caller: str | None = None) -> Any:
    return await api.call("POST", "/v1/jobs", caller, json=body or BODY, headers={"Idempotency-Key": key})


async def count(api: Api) -> int:
    return len((await api.call("GET", "/v1/jobs")).json()["jobs"])


async def test_a_repeated_request_gets_the_first_answer(any_api: Api) -> None:
    first, second = await submit(any_api, "a"), await submit(any_api, "a")
    assert (second.status_code, second.content) == (202, first.content)
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["content-type"] == first.headers["content-type"]
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert await count(any_api) == 1
    await submit(any_api, "b")
    assert await count(any_api) == 2


async def test_another_request_with_the_key_is_refused(any_api: Api) -> None:
    await submit(any_api, "a")
    answer = await submit(any_api, "a", {**BODY, "priority": "low"})
    assert (answer.status_code, answer.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    other = await any_api.call("POST", "/v1/jobs/batch", json={"jobs": [BODY]}, headers={"Idempotency-Key": "a"})
    assert other.status_code == 422


async def test_while_the_first_is_worked_on_others_are_told_to_wait(
    any_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on, enqueue = asyncio.Event(), asyncio.Event(), any_api.store.jobs.enqueue

    async def slow(*arguments: Any) -> Any:
        started.set()
        await go_on.wait()
        return await enqueue(*arguments)

    monkeypatch.setattr(any_api.store.jobs, "enqueue", slow)
    first = asyncio.create_task(submit(any_api, "a"))
    await started.wait()
    meanwhile = await submit(any_api, "a")
    assert (meanwhile.status_code, meanwhile.json()["code"]) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert meanwhile.headers["retry-after"] == "1"
    go_on.set()
    assert (await first).status_code == 202
    assert await count(any_api) == 1


async def test_keys_of_different_callers_do_not_meet(any_api: Api) -> None:
    mine, theirs = await any_api.key("enqueue", tenant="acme"), await any_api.key("enqueue", tenant="rival")
    first, second = await submit(any_api, "a", caller=mine), await submit(any_api, "a", caller=theirs)
    assert first.json()["id"] != second.json()["id"]


async def test_an_error_of_the_caller_is_an_answer_too(api: Api) -> None:
    first = await submit(api, "a", {"type": "nope"})
    again = await submit(api, "a", {"type": "nope"})
    assert (first.status_code, again.content) == (422, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/problem+json"


async def test_an_error_of_ours_is_not_kept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(api.asgi.state.service.client, "submit", broken)
        with pytest.raises(RuntimeError):
            await submit(api, "a")
    assert (await submit(api, "a")).status_code == 202


async def test_actions_are_done_once(api: Api) -> None:
    job_id = await api.dead()
    for _ in range(2):
        answer = await api.call("POST", f"/v1/jobs/{job_id}/replay", headers={"Idempotency-Key": "r"})
        assert (answer.status_code, answer.json()["state"]) == (200, "ready")


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
async def test_a_key_has_a_bound(api: Api, key: str) -> None:
    answer = await submit(api, key)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_IDEMPOTENCY_KEY")


async def test_the_text_of_a_key_is_not_kept(api: Api) -> None:
    body = {"name": "k", "scopes": ["read"]}
    texts = set()
    for _ in range(2):
        answer = await api.call("POST", "/v1/keys", json=body, headers={"Idempotency-Key": "a"})
        texts.add(answer.json()["key"])
    assert len(texts) == 2
