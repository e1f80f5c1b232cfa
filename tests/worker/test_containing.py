"""What handlers raise that is no Exception ends their own run and nothing else."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead import wiring
from fairlead.core.jobs.states import State
from fairlead.testing import drain

ONCE = fairlead.Retry(attempts=1)


class PanicException(BaseException):
    """As libraries that are written in Rust raise it."""


def leave() -> None:
    sys.exit("bye")


def panic() -> None:
    raise PanicException("bye")


def take_none() -> None:
    next(iter(()))


def interrupt() -> None:
    raise KeyboardInterrupt


def close() -> None:
    raise GeneratorExit


def in_coroutine(function: Callable[[], Any]) -> Callable[[], Any]:
    async def handler() -> None:
        function()

    return handler


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        (leave, "SystemExit"),
        (in_coroutine(leave), "SystemExit"),
        (panic, f"{__name__}.PanicException"),
        (in_coroutine(panic), f"{__name__}.PanicException"),
        (take_none, "StopIteration"),
        (interrupt, "KeyboardInterrupt"),
        (in_coroutine(interrupt), "KeyboardInterrupt"),
        (in_coroutine(close), "GeneratorExit"),
    ],
    ids=[
        "thread-exit",
        "coroutine-exit",
        "thread-panic",
        "coroutine-panic",
        "thread-next",
        "thread-interrupt",
        "coroutine-interrupt",
        "coroutine-close",
    ],
)
async def test_it_fails_its_own_job_and_no_other(handler: Callable[[], Any], kind: str) -> None:
    app = fairlead.App("sqlite:///:memory:")
    bad = app.handler("bad", retry=ONCE)(handler)
    good = app.handler("good")(lambda: "well")
    async with app:
        failed, beside = await bad.enqueue(), await good.enqueue()
        await drain(app)
        record = await failed.read()
        assert record.state is State.DEAD
        assert record.error is not None
        assert record.error.type == kind
        (attempt,) = await failed.attempts()
        assert attempt.error is not None
        assert __file__ in (attempt.error.traceback or ""), "where it was raised"
        assert await beside.state() is State.SUCCEEDED


@pytest.mark.parametrize("raised", [GeneratorExit, KeyboardInterrupt, SystemExit])
async def test_a_worker_settles_it_says_so_and_goes_on(
    raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    app = fairlead.App("sqlite:///:memory:", poll="50ms")

    @app.handler("bad", retry=ONCE)
    async def bad() -> None:
        await asyncio.sleep(0.01)
        raise raised

    @app.handler("good")
    async def good() -> str:
        return "well"

    async with app, app.worker(concurrency=1):
        with pytest.raises(fairlead.JobFailed, match=raised.__name__):
            await (await bad.enqueue()).wait(10)
        assert await (await good.enqueue()).wait(10) == "well"
    assert f"a handler of bad raised {raised.__name__}" in caplog.text


async def test_it_can_be_classified_like_any_error() -> None:
    app = fairlead.App("sqlite:///:memory:")
    bad = app.handler("bad", retry=fairlead.Retry(attempts=5), classify={SystemExit: "permanent"})(leave)
    async with app:
        job = await bad.enqueue()
        await drain(app)
        assert await job.state() is State.DEAD


@pytest.mark.parametrize("fails", [False, True])
async def test_an_upgrade_that_runs_out_of_something_has_failed_too(fails: bool, tmp_path: Path) -> None:
    """It runs where the end of a coroutine is told by the same kind of exception."""
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    await wiring.migrate(url)
    before, after = fairlead.App(url), fairlead.App(url)

    async def double(number: int) -> int:
        return 2 * number

    def upgrade(payload: dict[str, Any], version: int) -> dict[str, Any]:
        return {"number": next(iter(() if fails else (4,)))}

    old = before.handler("double", retry=ONCE)(double)
    after.handler("double", retry=ONCE, version=2, upgrade=upgrade)(double)
    async with before, after:
        job = await old.enqueue(number=1)
        await drain(after)
        record = await job.read()
        assert (record.state, record.result) == ((State.DEAD, None) if fails else (State.SUCCEEDED, 8))
