"""A worker inside a program of the user's: its lease is kept by a thread, the services run beside it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fairlead.config import Settings
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import LeaseBook
from fairlead.records.store import Store
from fairlead.scheduler.host import hosted_services
from fairlead.telemetry.events import Telemetry
from fairlead.worker.lease import KeeperThread
from fairlead.worker.service import Worker


@contextlib.asynccontextmanager
async def embedded_worker(
    registry: Registry,
    store: Store,
    book: LeaseBook,
    settings: Settings,
    pools: tuple[str, ...],
    slots: int,
    telemetry: Telemetry,
    reserve: tuple[str, ...] = (),
) -> AsyncIterator[Worker]:
    """A running worker; leaving the block drains it. If it fails, the block is cancelled and the error raised."""
    keeper = KeeperThread(book, settings.heartbeat)
    worker = Worker(registry, store, settings, pools, slots, keeper.keep, telemetry, reserve=reserve)
    keeper.start()
    try:
        async with hosted_services(store, settings, telemetry, registry), asyncio.TaskGroup() as group:
            group.create_task(worker.run(), name="fairlead-worker")
            await worker.registered.wait()
            try:
                yield worker
            finally:
                worker.stop()
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        keeper.drop(worker.info.id)
        await asyncio.to_thread(keeper.stop)
