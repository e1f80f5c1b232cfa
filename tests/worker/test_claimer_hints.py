"""Hints that come sooner than another look at all lanes is worth."""

import pytest

import fairlead
from fairlead.worker import claimer as claiming
from fairlead.worker.claimer import Claimer

OWNER = "00000000-0000-7000-8000-000000000001"


async def test_a_lane_that_had_work_lately_is_asked_again_after_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the slots that are free just now all go to a tenant with a backlog, and are taken for long."""
    monkeypatch.setattr(claiming, "PATIENT", 1e9)
    monkeypatch.setattr(claiming, "THRIFTY", 1e9)
    app = fairlead.App("sqlite:///:memory:")

    @app.handler("work")
    async def work() -> None: ...

    async with app:
        small, large = work.options(tenant="small"), work.options(tenant="large")
        await small.enqueue()
        await large.enqueue_many([{}] * 20)
        claimer = Claimer(await app.store(), OWNER, frozenset({"short"}), app.registry)
        assert {claim.lane.tenant for claim in await claimer.take(6)} == {"small", "large"}
        assert {claim.lane.tenant for claim in await claimer.take(2)} == {"large"}
        await small.enqueue()
        assert {claim.lane.tenant for claim in await claimer.take(2)} == {"large"}
        claimer.hint()
        assert "small" in {claim.lane.tenant for claim in await claimer.take(2)}
        assert {claim.lane.tenant for claim in await claimer.take(2)} == {"large"}
