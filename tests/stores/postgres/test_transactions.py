"""The connections that handlers' transactions share: how long one waits for them, and which are not kept."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

import fairlead
from fairlead.stores.postgres import transactions

pytestmark = pytest.mark.postgres


@pytest.fixture
async def app(postgres_url: str) -> AsyncIterator[fairlead.App]:
    """An app on PostgreSQL."""
    async with fairlead.App(postgres_url) as made:
        yield made


async def test_who_waits_too_long_for_a_connection_is_told_why(
    app: fairlead.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(transactions._SIZES, "max_size", 1)
    taken = "connections for transactions of handlers are taken"
    store = await app.store()
    opened = await store.jobs.begin()
    with monkeypatch.context() as impatient:
        impatient.setattr(transactions, "PATIENCE", 0.1)
        with pytest.raises(fairlead.StoreUnavailable, match=taken):
            await store.jobs.begin()
    await opened.abandon()
    await (await store.jobs.begin()).abandon()
    blocking = await asyncio.to_thread(store.jobs.begin_blocking)
    with monkeypatch.context() as impatient:
        impatient.setattr(transactions, "PATIENCE", 0.1)
        with pytest.raises(fairlead.StoreUnavailable, match=taken):
            await asyncio.to_thread(store.jobs.begin_blocking)
    await asyncio.to_thread(blocking.release, keep=False)


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_connection_to_a_former_primary_is_not_kept(app: fairlead.App, blocking: bool) -> None:
    """After a failover it may lead to a server that takes no writes any more."""
    store, database = await app.store(), app.settings.database_url.rpartition("/")[2]

    async def begin() -> Any:
        return await (asyncio.to_thread(store.jobs.begin_blocking) if blocking else store.jobs.begin())

    async def end(opened: Any) -> None:
        await (asyncio.to_thread(opened.release, keep=False) if blocking else opened.abandon())

    with psycopg.connect(app.settings.database_url, autocommit=True) as operator:
        operator.execute(f'alter database "{database}" set default_transaction_read_only = on')
        try:
            opened = await begin()
        finally:
            operator.execute("set default_transaction_read_only = off")
            operator.execute(f'alter database "{database}" reset default_transaction_read_only')
    first = opened.connection
    await end(opened)
    assert first.closed
    opened = await begin()
    kept = opened.connection
    assert kept.info.parameter_status("default_transaction_read_only") == "off"
    await end(opened)
    assert not kept.closed
