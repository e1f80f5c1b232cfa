"""The loop around the services, when one of them fails in a way that nobody foresaw."""

import asyncio

import pytest

from fairlead.scheduler import runner
from fairlead.scheduler.runner import ServiceHost
from fairlead.telemetry.events import Event, ServiceFailed, Telemetry
from fairlead.wiring import make_store


class Failing:
    """A service with a defect, for a while."""

    name = "failing"

    def __init__(self) -> None:
        self.runs = 0
        self.mended = asyncio.Event()

    async def run_once(self) -> float:
        """Fail twice."""
        self.runs += 1
        if self.runs < 3:
            raise OverflowError("date value out of range")
        self.mended.set()
        return 3600.0


class Sound:
    """A service that works."""

    name = "sound"

    def __init__(self) -> None:
        self.ran = asyncio.Event()

    async def run_once(self) -> float:
        """Work."""
        self.ran.set()
        return 3600.0


async def test_a_service_with_a_defect_is_tried_again_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "AFTER_FAILURE", 0.01)
    events: list[Event] = []
    telemetry = Telemetry()
    telemetry.listen(events.append)
    failing, sound = Failing(), Sound()
    host = ServiceHost(make_store("sqlite:///:memory:"), [failing, sound], None, telemetry)
    running = asyncio.create_task(host.run())
    try:
        async with asyncio.timeout(30):
            await failing.mended.wait()
            await sound.ran.wait()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert events == [ServiceFailed("failing", "OverflowError: date value out of range")] * 2
