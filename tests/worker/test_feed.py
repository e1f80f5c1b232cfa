"""The order in which a worker claims and starts."""

from collections.abc import Collection, Sequence

import pytest

import fairlead
from fairlead.core.jobs.model import ActiveLane, Claim, Lease, Quota
from tests.worker.support import until


async def test_a_job_starts_before_its_worker_looks_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it waits for whatever that look begins with, which is of use to nobody where nothing else waits."""
    app = fairlead.App("sqlite:///:memory:", poll="60s")
    happened: list[str] = []

    @app.handler("work")
    async def work() -> None:
        happened.append("started")

    async with app, app.worker(concurrency=4):
        store = await app.store()
        active_lanes = store.reader.active_lanes

        async def noted(besides: Collection[int] = ()) -> list[ActiveLane]:
            happened.append("looked")
            return await active_lanes(besides)

        async def claimed(quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
            claims = await claim(quotas, lease)
            happened.append("claimed")
            return claims

        claim = store.jobs.claim
        monkeypatch.setattr(store.jobs, "claim", claimed)
        monkeypatch.setattr(store.reader, "active_lanes", noted)
        await (await work.enqueue()).wait(10)
        await until(lambda: "looked" in happened[happened.index("started") :], "the look after it")
        assert happened[happened.index("started") - 1] == "claimed"
