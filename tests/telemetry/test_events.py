"""Whoever listens to events cannot disturb the engine."""

import logging

import pytest

import fairlead
from fairlead.core.jobs.states import State
from fairlead.telemetry.events import Event, StoreBack, Telemetry
from fairlead.testing import drain


def fail(event: Event) -> None:
    raise OSError(28, "No space left on device")


async def test_jobs_are_run_and_settled_although_the_log_cannot_be_written() -> None:
    app = fairlead.App("sqlite:///:memory:")
    app.on_event(fail)
    quick = app.handler("quick")(lambda: 1)
    async with app:
        jobs = [await quick.enqueue() for _ in range(3)]
        await drain(app)
        assert [await job.state() for job in jobs] == [State.SUCCEEDED] * 3


def test_the_others_hear_of_it_and_the_failure_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Event] = []
    telemetry = Telemetry()
    telemetry.listen(fail)
    telemetry.listen(heard.append)
    with caplog.at_level(logging.ERROR, "fairlead"):
        telemetry.emit(StoreBack("settler"))
        telemetry.emit(StoreBack("settler"))
    assert len(heard) == 2
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text
