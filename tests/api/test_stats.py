"""The figures: now, the last hour, and live."""

import asyncio
import json

from tests.api.conftest import Api


async def test_the_last_hour_is_what_was_sampled(api: Api) -> None:
    await api.store.add_sample('{"pools":{},"ended":{"dead":1},"seconds":5.0}', 3600)
    (sample,) = (await api.call("GET", "/v1/stats/history")).json()["samples"]
    assert sample["ended"] == {"dead": 1}


async def test_the_stream_tells_every_viewer_how_it_looks(api: Api) -> None:
    await api.submit()
    watch = api.asgi.state.service.watch
    viewers = [asyncio.create_task(api.call("GET", "/v1/stats/stream")) for _ in range(2)]
    while watch.newest is None:
        await watch.next()
    watch.close()
    for answer in await asyncio.gather(*viewers):
        assert answer.headers["content-type"].startswith("text/event-stream")
        event = next(line for line in answer.text.splitlines() if line.startswith("data: "))
        glance = json.loads(event.removeprefix("data: "))
        assert glance["pools"][0]["jobs"]["ready"] == 1
        assert glance["health"]["sentence"] == "No worker serves the pool short, where 1 job waits."


async def test_the_stream_is_for_keys_of_all_tenants_only(api: Api) -> None:
    for key in (await api.key("read", tenant="acme"), await api.key("enqueue")):
        assert (await api.call("GET", "/v1/stats/stream", key)).status_code == 403
