"""Server-sent events: signs of life, and an end when the server stops or the caller's key is no longer valid."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from fastapi import Request
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from fairlead.api.caller import Caller

HEARTBEAT = 15.0
CHECK_EVERY = 0.5  # with what the key cache remembers, a revocation ends a stream in less than two seconds
MEDIA_TYPE = "text/event-stream"
DESCRIBED: dict[str, Any] = {"content": {MEDIA_TYPE: {}}}
RETRY, LIVING = b"retry: 2000\n\n", b": still here\n\n"


def event(name: str, document: Any) -> bytes:
    """One event as it travels."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), to_json(document))


def stream(request: Request, caller: Caller, events: AsyncGenerator[bytes]) -> StreamingResponse:
    """The events as an answer."""
    body = _guarded(caller, request.scope["fairlead.key"], events)
    return StreamingResponse(body, media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})


async def _guarded(caller: Caller, key: str, events: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """The events while the key is valid, which is checked by the clock however many events there are."""
    clock, keys = asyncio.get_running_loop().time, caller.service.keys
    check_at = living_at = clock()
    yield RETRY
    async with contextlib.aclosing(events):
        while True:
            following = asyncio.ensure_future(anext(events, None))
            try:
                while True:
                    if clock() >= check_at:
                        if caller.service.feed.is_closed or await keys.find(key) is None:
                            return
                        check_at = clock() + CHECK_EVERY
                    await asyncio.wait([following], timeout=max(0.0, check_at - clock()))
                    if following.done():
                        break
                    if clock() >= living_at + HEARTBEAT:
                        living_at = clock()
                        yield LIVING
                item = following.result()
            finally:
                following.cancel()
                await asyncio.wait([following])
            if item is None:
                return
            living_at = clock()
            yield item
