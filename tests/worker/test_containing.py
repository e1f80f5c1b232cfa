"""What handlers raise that is no Exception ends their own run and nothing else."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

import fairlead
from fairlead.core.states import State
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
    ],
    ids=["thread-exit", "coroutine-exit", "thread-panic", "coroutine-panic", "thread-next", "thread-interrupt"],
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


async def test_it_can_be_classified_like_any_error() -> None:
    app = fairlead.App("sqlite:///:memory:")
    bad = app.handler("bad", retry=fairlead.Retry(attempts=5), classify={SystemExit: "permanent"})(leave)
    async with app:
        job = await bad.enqueue()
        await drain(app)
        assert await job.state() is State.DEAD
