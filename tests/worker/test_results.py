"""A result that cannot be kept: the job has succeeded all the same, and everyone who looks is told."""

import io
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.states import State
from fairlead.telemetry.events import Event, ResultDropped
from fairlead.telemetry.log import EventLog, LogOutput
from fairlead.testing import drain

LARGE = "x" * 100_000


class Stubborn:
    """No JSON."""


@pytest.mark.parametrize(
    ("result", "why"),
    [(LARGE, "100,002 bytes"), (Stubborn(), "JSON"), ("\x00", "NUL")],
    ids=["large", "no-json", "nul"],
)
async def test_a_job_has_succeeded_although_its_result_is_dropped(store_url: str, result: Any, why: str) -> None:
    heard: list[Event] = []
    async with fairlead.App(store_url) as app:
        app.on_event(heard.append)
        export = app.handler("export")(lambda: result)
        job = await export.enqueue()
        await drain(app)
        record = await job.read()
        assert (record.state, record.attempt, record.result) == (State.SUCCEEDED, 1, None)
        assert record.error is not None
        assert (record.error.type, record.error.failure) == ("ResultDropped", None)
        assert why in record.error.message
        with pytest.raises(fairlead.ResultDropped, match="succeeded, but its result was dropped"):
            await job.wait(10)
        assert [moment.error for moment in await job.timeline()][-1] == record.error
    assert [event.job for event in heard if isinstance(event, ResultDropped)] == [job.id]


async def test_a_success_after_failures_has_no_error(store_url: str) -> None:
    async with fairlead.App(store_url) as app:

        @app.handler("second_time", retry=fairlead.Retry(first="1ms", jitter="none"))
        async def second_time(ctx: fairlead.Context) -> int:
            if ctx.attempt == 1:
                raise ValueError("not yet")
            return ctx.attempt

        job = await second_time.enqueue()
        async with app.worker():
            assert await job.wait(20) == 2
        assert (await job.read()).error is None


def test_the_log_says_so_without_an_option() -> None:
    stream = io.StringIO()
    EventLog(LogOutput(stream, as_json=False))(ResultDropped("id-1", "export", "acme", "the result has 100,002 bytes"))
    assert "warning" in stream.getvalue()
    assert "result_dropped job=id-1 type=export tenant=acme" in stream.getvalue()
