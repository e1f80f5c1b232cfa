"""Claims with and without limits in one round: what is claimed is never forgotten."""

import pytest

import fairlead
from fairlead.errors import StoreUnavailable
from fairlead.runtime.operator import Operator
from fairlead.worker.claimer import Claimer
from tests.support.settings import set_limit

OWNER = "00000000-0000-7000-8000-000000000001"


async def test_free_jobs_are_run_though_the_store_goes_away_before_the_limited_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = fairlead.App("sqlite:///:memory:")

    @app.handler("free")
    async def free() -> None: ...

    @app.handler("limited")
    async def limited() -> None: ...

    async def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    async with app:
        store = await app.store()
        await set_limit(store, "type", "limited", Operator("ada", "a test"), concurrent=5)
        await free.options(tenant="a").enqueue()
        await limited.options(tenant="b").enqueue()
        claimer = Claimer(store, OWNER, frozenset({"short"}), app.registry)
        with monkeypatch.context() as broken:
            broken.setattr(store.limits, "claim", away)
            assert [claim.lane.type for claim in await claimer.take(10)] == ["free"]
            with pytest.raises(StoreUnavailable):
                await claimer.take(10)
        assert [claim.lane.type for claim in await claimer.take(10)] == ["limited"]
