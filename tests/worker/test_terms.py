"""What a pool says where a type says nothing, and that it can be changed while everything runs."""

from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.model import Claim, Lane, Lease, Priority
from fairlead.core.jobs.pools import POOL
from fairlead.core.jobs.states import State
from fairlead.core.protection.controls import Control, Controls
from fairlead.handlers.spec import HandlerSpec, declare
from fairlead.runtime.operator import Operator
from fairlead.testing import ManualClock, drain
from fairlead.worker.slots import Terms
from tests.support.settings import set_pool

ADA = Operator("ada", "a long night")


def spec(**given: Any) -> HandlerSpec:
    usual: dict[str, Any] = {"pool": "short", "version": 1, "timeout": None, "retry": None}
    return declare("work", lambda: None, **{**usual, "retention": None, "upgrade": None, **given})


def claim_in(pool: str) -> Claim:
    lane = Lane(pool, "acme", "work", Priority.DEFAULT, 1)
    return Claim("a", lane, "{}", 1, 0, 1, 0.0, 0.0, None, None, None, Lease("worker", "token"))


@pytest.mark.parametrize(("pool", "attempts"), [("short", 5), ("medium", 3), ("long", 2), ("own", 5)])
def test_how_often_a_job_is_tried_depends_on_its_pool(pool: str, attempts: int) -> None:
    timeout, policies = Terms(Controls()).of(claim_in(pool), spec())
    assert (timeout, policies.application.attempts) == (None, attempts)
    assert spec(pool=pool).retry.attempts == attempts


def test_what_a_type_declares_comes_first() -> None:
    controls = Controls()
    controls.follow([Control(POOL, "long", {"attempts": 7, "timeout": 60.0}, 1, 0.0)])
    own = spec(retry=fairlead.Retry(attempts=4), timeout="5s")
    timeout, policies = Terms(controls).of(claim_in("long"), own)
    assert (timeout, policies.application.attempts) == (5.0, 4)


def test_a_change_of_a_pool_is_followed() -> None:
    controls = Controls()
    terms = Terms(controls)
    assert terms.of(claim_in("long"), spec())[1].application.attempts == 2
    terms.follow(controls.follow([Control(POOL, "long", {"attempts": 7, "timeout": 60.0}, 1, 0.0)]))
    timeout, policies = terms.of(claim_in("long"), spec())
    assert (timeout, policies.application.attempts) == (60.0, 7)


async def test_jobs_are_tried_as_often_as_their_pool_says() -> None:
    clock = ManualClock()
    app = fairlead.App("sqlite:///:memory:", clock=clock)

    @app.handler("fail", pool="medium", breaker=fairlead.Breaker.off())
    async def fail() -> None:
        raise RuntimeError("no")

    async with app:
        store = (await app.client()).store
        assert await attempts_of(app, fail, clock) == 3
        await set_pool(store, "medium", {"attempts": 1}, ADA)
        assert await attempts_of(app, fail, clock) == 1


async def attempts_of(app: fairlead.App, handler: fairlead.Handler[[], Any], clock: ManualClock) -> int:
    """Run a job to its end."""
    job = await handler.enqueue()
    for _ in range(10):
        await drain(app)
        record = await job.read()
        if record.state is State.DEAD:
            return record.attempt
        clock.advance("1h")
    raise AssertionError("the job does not end")
