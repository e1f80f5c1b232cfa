"""A connection that breaks at commit: the submission is repeated and stored once."""

import pytest

import fairlead
from fairlead.handlers.options import Options
from tests.faults.app import app as declared
from tests.support.proxy import cutting_proxy

pytestmark = [pytest.mark.faults, pytest.mark.postgres, pytest.mark.timeout(60)]


def inserts_jobs(data: bytes) -> bool:
    """Whether the client sends the job's arguments; a commit that follows a statement is cut with it."""
    return b"1234.5" in data


def commits(data: bytes) -> bool:
    return b"COMMIT" in data


def registers(data: bytes) -> bool:
    return b"insert into worker" in data


@pytest.mark.parametrize("delivered", [True, False], ids=["entered-but-unheard", "never-arrived"])
async def test_a_worker_whose_entry_is_cut_off_starts_all_the_same(postgres_url: str, delivered: bool) -> None:
    async with cutting_proxy(postgres_url) as (proxy, url), fairlead.App(url) as app:
        proxy.cut_once(registers, delivered)
        async with app.worker() as worker:
            assert proxy.cuts == 1
            assert [record.info.id for record in await (await app.store()).workers.all()] == [worker.info.id]


@pytest.mark.parametrize("delivered", [True, False], ids=["stored-but-unheard", "never-arrived"])
@pytest.mark.parametrize("key", [None, "order-1"], ids=["without-key", "with-key"])
async def test_an_enqueue_cut_off_is_stored_once(postgres_url: str, delivered: bool, key: str | None) -> None:
    async with cutting_proxy(postgres_url) as (proxy, url), fairlead.App(url) as app:
        client = await app.client()
        spec = declared.registry["step"]
        await client.enqueue(spec, [{}], Options())
        proxy.cut_once(commits if key else inserts_jobs, delivered)
        (job,) = await client.enqueue(spec, [{"seconds": 1234.5}], Options(idempotency_key=key))
        assert proxy.cuts == 1
        page = await app.jobs()
        assert len(page.jobs) == 2
        assert job.id in {record.id for record in page.jobs}
