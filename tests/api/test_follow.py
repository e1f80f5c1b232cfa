"""Following jobs on a real server: streams that end, heartbeats, bounds, and a stop that waits for nobody."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import pytest

from fairlead.api import create_app, streams
from fairlead.api.serving import address_of, listen_on, serving
from fairlead.core.jobs.progress import RunReport
from tests.api.conftest import LANE, MEMORY, Api, mail_app
from tests.contract.making import claim_one, done, new_lease


@asynccontextmanager
async def served(url: str, **settings: Any) -> AsyncIterator[Api]:
    """The API behind a socket."""
    async with mail_app(url, **settings) as app:
        asgi = create_app(app)
        listener = listen_on("127.0.0.1", 0)
        http = httpx2.AsyncClient(base_url=address_of(listener), timeout=60)
        async with http, serving(asgi, listener):
            api = Api(app, asgi, http)
            api.admin = await api.key("admin")
            yield api


async def until_followed(api: Api, count: int) -> None:
    """Wait until so many follow."""
    while len(api.asgi.state.service.follower) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def until_gone(api: Api) -> None:
    """Wait until nobody follows."""
    while len(api.asgi.state.service.follower):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


Event = tuple[str, dict[str, Any]]


async def events_of(api: Api, job_id: str, key: str | None = None) -> AsyncGenerator[Event | str]:
    """Events as they come; a comment is a text."""
    headers = {"Authorization": f"Bearer {key or api.admin}"}
    async with api.http.stream("GET", f"/v1/jobs/{job_id}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = ""
        async for line in answer.aiter_lines():
            if line.startswith(":"):
                yield line
            elif line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


async def test_a_stream_tells_each_state_and_ends_with_the_result(store_url: str) -> None:
    async with served(store_url) as api:
        job_id = await api.submit()
        seen: list[tuple[str, str]] = []
        async for event in events_of(api, job_id):
            assert isinstance(event, tuple)
            seen.append((event[0], event[1]["state"]))
            if seen == [("state", "ready")]:
                claimed = await claim_one(api.store, new_lease(), LANE)
            elif seen[-1] == ("state", "running"):
                await api.store.jobs.settle([done(claimed, '{"sent":true}')])
        assert seen == [("state", "ready"), ("state", "running"), ("state", "succeeded"), ("result", "succeeded")]
        assert isinstance(event, tuple)
        assert event[1]["result"] == {"sent": True}
        assert len(api.asgi.state.service.follower) == 0


async def test_a_stream_tells_progress_and_a_state_only_when_it_changes(store_url: str) -> None:
    async with served(store_url) as api:
        job_id = await api.submit()
        claimed = await claim_one(api.store, new_lease(), LANE)
        run = RunReport(job_id, claimed.fence, *claimed.lease, 1.0, 4.0, "<b>one</b>")
        seen: list[tuple[str, Any]] = []
        async for event in events_of(api, job_id):
            assert isinstance(event, tuple)
            progress = event[1].get("progress")
            seen.append((event[0], progress and (progress["fraction"], progress["message"])))
            if len(seen) == 1:
                await api.store.run_state.report_progress([run])
            elif len(seen) == 2:
                await api.store.run_state.report_progress([run._replace(done=4.0, message="all")])
            elif len(seen) == 3:
                await api.store.jobs.settle([done(claimed, "1")])
        assert seen == [
            ("state", None),
            ("progress", (0.25, "<b>one</b>")),
            ("progress", (1.0, "all")),
            ("state", None),
            ("result", None),
        ]
        shown = (await api.call("GET", f"/v1/jobs/{job_id}")).json()["progress"]
        assert (shown["fraction"], shown["done"], shown["total"], shown["message"]) == (1.0, 4.0, 4.0, "all")
        (listed,) = (await api.call("GET", "/v1/jobs")).json()["jobs"]
        assert listed["progress"] == shown


async def test_a_job_that_has_ended_is_told_at_once() -> None:
    async with served(MEMORY) as api:
        found = [event async for event in events_of(api, await api.dead())]
        assert [event[0] for event in found] == ["state", "result"]
        assert found[1][1]["error"]["type"] == "ValueError"  # type: ignore[index]


async def test_a_quiet_stream_shows_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.01)
    async with served(MEMORY) as api:
        async with aclosing(events_of(api, await api.submit())) as events:
            async for event in events:
                if isinstance(event, str):
                    break
        assert event == ": still here"


async def test_a_revoked_key_ends_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.01)
    async with served(MEMORY) as api:
        key = await api.key("read")
        async for event in events_of(api, await api.submit(), key):
            if event[0] == "state":
                await api.call("POST", f"/v1/keys/{key[4:14]}/revoke")


async def test_there_are_only_so_many_streams() -> None:
    async with served(MEMORY, api_followers=1) as api:
        job_id = await api.submit()
        async with aclosing(events_of(api, job_id)) as events:
            await anext(events)
            await until_followed(api, 1)
            for path in ("events", "wait"):
                answer = await api.call("GET", f"/v1/jobs/{job_id}/{path}")
                assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY_FOLLOWERS")
                assert answer.headers["retry-after"] == "5"


async def test_one_key_leaves_room_for_others() -> None:
    async with served(MEMORY, api_followers=4) as api:
        job_id, greedy = await api.submit(), await api.key("read")
        async with aclosing(events_of(api, job_id, greedy)) as one, aclosing(events_of(api, job_id, greedy)) as two:
            await anext(one)
            await anext(two)
            await until_followed(api, 2)
            headers = {"Authorization": f"Bearer {greedy}"}
            for path in (f"/v1/jobs/{job_id}/events", f"/v1/jobs/{job_id}/wait", "/v1/status/stream"):
                answer = await api.http.get(path, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY_FOLLOWERS")
            async with aclosing(events_of(api, job_id)) as another:
                await anext(another)
                await until_followed(api, 3)
        await until_gone(api)


async def test_watching_the_system_takes_a_seat_too() -> None:
    async with served(MEMORY, api_followers=1) as api:
        headers = {"Authorization": f"Bearer {api.admin}"}
        async with api.http.stream("GET", "/v1/status/stream", headers=headers) as watching:
            assert watching.status_code == 200
            await until_followed(api, 1)
            assert (await api.call("GET", "/v1/status/stream")).status_code == 429
        await until_gone(api)


async def test_a_wait_that_is_over_answers_with_the_job_as_it_is() -> None:
    async with served(MEMORY) as api:
        job_id = await api.submit()
        answer = await api.call("GET", f"/v1/jobs/{job_id}/wait", params={"timeout": 0.05})
        assert (answer.status_code, answer.json()["state"]) == (202, "ready")
        assert (await api.call("GET", f"/v1/jobs/{job_id}/wait", params={"timeout": 61})).status_code == 422


async def test_many_wait_with_few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(MEMORY) as api:
        job_id = await api.submit()
        waits = [asyncio.create_task(api.call("GET", f"/v1/jobs/{job_id}/wait")) for _ in range(90)]
        await until_followed(api, 90)
        claimed = await claim_one(api.store, new_lease(), LANE)
        questions, read_many = 0, api.store.reader.read_many

        async def counted(ids: Any) -> Any:
            nonlocal questions
            questions += 1
            return await read_many(ids)

        monkeypatch.setattr(api.store.reader, "read_many", counted)
        await api.store.jobs.settle([done(claimed, "1")])
        assert {answer.json()["state"] for answer in await asyncio.gather(*waits)} == {"succeeded"}
        assert questions < 60


async def test_the_server_stops_though_streams_are_open() -> None:
    async with served(MEMORY) as api:
        job_id = await api.submit()
        opened = asyncio.Event()

        async def watch() -> list[Any]:
            found = []
            async for event in events_of(api, job_id):
                found.append(event)
                opened.set()
            return found

        watching = asyncio.create_task(watch())
        await opened.wait()
    assert len(await watching) == 1
