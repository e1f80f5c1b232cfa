"""The services in a process: hints from other processes wake the promoter, and nothing is polled in a hurry."""

import asyncio
from collections.abc import AsyncIterator

import pytest

import fairlead
from fairlead.client.client import Client
from fairlead.config import load_settings
from fairlead.core.jobs.states import State
from fairlead.scheduler import promote
from fairlead.scheduler.host import hosted_services
from fairlead.telemetry.events import Telemetry
from fairlead.wiring import make_store
from tests.contract.making import new_job, state_of

FOR_EVER = 100_000.0


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store that several processes can share."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
async def sleepy_services(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Services whose promoter wakes for nothing but a due job it knows of, or a hint."""
    monkeypatch.setattr(promote, "LONGEST_SLEEP", FOR_EVER)
    store = make_store(url)
    await store.open()
    try:
        async with hosted_services(store, load_settings(database_url=url), Telemetry()):
            yield
    finally:
        await store.close()


async def test_a_job_scheduled_by_another_process_wakes_the_promoter(url: str, sleepy_services: None) -> None:
    store = make_store(url)
    await store.open()
    client = Client(store, load_settings(database_url=url))
    try:
        await client.submit([new_job(delay=50_000.0)])
        for _ in range(3):  # after the first the promoter sleeps, as far as it knows for hours
            job = new_job(delay=0.05)
            await client.submit([job])
            async with asyncio.timeout(60):
                while await state_of(store, job.id) is not State.READY:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
    finally:
        await client.close()
        await store.close()


async def test_a_retry_wakes_the_promoter_of_another_process(url: str, sleepy_services: None) -> None:
    """The worker's own services follow: those of the other process lead."""
    app = fairlead.App(url)
    runs: list[int] = []

    @app.handler("flaky", retry=fairlead.Retry.fixed("50ms", attempts=4))
    async def flaky(ctx: fairlead.Context) -> int:
        runs.append(ctx.attempt)
        if ctx.attempt < 4:
            raise OSError("not yet")
        return ctx.attempt

    async with app, app.worker():
        job = await flaky.enqueue()
        assert await job.wait(60) == 4
    assert runs == [1, 2, 3, 4]
