"""The figures: now, the last hour, and live."""

import asyncio
import json

from fairlead.core.fairness.run_times import bucket_of
from fairlead.core.insight.wait_times import WaitCount
from tests.api.conftest import Api


async def test_the_last_hour_is_what_was_sampled(api: Api) -> None:
    await api.store.samples.add('{"pools":{},"ended":{"dead":1},"seconds":5.0}', 3600)
    (sample,) = (await api.call("GET", "/v1/status/history")).json()["samples"]
    assert sample["ended"] == {"dead": 1}


async def test_waits_are_told_by_pool_and_by_minute(any_api: Api) -> None:
    assert (await any_api.call("GET", "/v1/status/waits")).json() == {
        "seconds": 3600.0,
        "all": None,
        "pools": {},
        "minutes": [],
    }
    short, long = WaitCount("short", bucket_of(0.5), 99), WaitCount("long", bucket_of(8.0), 1)
    await any_api.store.shares.record_usage([], [], [short, long])
    found = (await any_api.call("GET", "/v1/status/waits", params={"seconds": 300})).json()
    together = {"count": 100, "p50": 0.5625, "p95": 0.5625, "p99": 0.5625}
    assert found["all"] == together
    assert found["pools"]["long"] == {"count": 1, "p50": 9.0, "p95": 9.0, "p99": 9.0}
    (minute,) = found["minutes"]
    assert minute == {**together, "at": minute["at"]}
    assert minute["at"] % 60 == 0
    for wrong in ({"seconds": 59}, {"seconds": 3601}, {"seconds": "x"}):
        assert (await any_api.call("GET", "/v1/status/waits", params=wrong)).status_code == 422


async def test_the_stream_tells_every_viewer_how_it_looks(api: Api) -> None:
    await api.submit()
    await api.store.shares.record_usage([], [], [WaitCount("short", bucket_of(0.5), 3)])
    watch = api.asgi.state.service.feed
    viewers = [asyncio.create_task(api.call("GET", "/v1/status/stream")) for _ in range(2)]
    while watch.newest is None:
        await watch.next()
    watch.close()
    for answer in await asyncio.gather(*viewers):
        assert answer.headers["content-type"].startswith("text/event-stream")
        event = next(line for line in answer.text.splitlines() if line.startswith("data: "))
        glance = json.loads(event.removeprefix("data: "))
        assert glance["pools"][0]["jobs"]["ready"] == 1
        assert glance["waits"]["all"] == {"count": 3, "p50": 0.5625, "p95": 0.5625, "p99": 0.5625}
        assert glance["waits"]["minutes"][0]["count"] == 3
        assert glance["health"]["sentence"] == "No worker serves the pool short, where 1 job waits."


async def test_the_stream_is_for_keys_of_all_tenants_only(api: Api) -> None:
    for key in (await api.key("read", tenant="acme"), await api.key("enqueue")):
        assert (await api.call("GET", "/v1/status/stream", key)).status_code == 403
