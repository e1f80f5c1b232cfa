"""A store of some kind with a clock that the test moves, and more stores on the same database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fairlead import wiring
from fairlead.core.jobs.model import Lease
from fairlead.ports.jobs import LeaseBook
from fairlead.records.store import Store
from tests.contract.clock import Clock, ManualClock, PostgresClock
from tests.contract.making import new_lease, worker_info


@dataclass
class World:
    """What a contract test needs."""

    url: str
    clock: Clock
    store: Store
    books: list[LeaseBook] = field(default_factory=list)
    others: list[Store] = field(default_factory=list)

    @property
    def is_postgres(self) -> bool:
        """Whether the store is PostgreSQL."""
        return self.url.startswith("postgres")

    def advance(self, seconds: float) -> None:
        """Let so much of the database's time pass."""
        self.clock.advance(seconds)

    async def another_store(self) -> Store:
        """A second store on the same database, with connections of its own."""
        store = wiring.make_store(self.url, self.clock)
        await store.open()
        self.others.append(store)
        return store

    def lease_book(self) -> LeaseBook:
        """The blocking side."""
        book = wiring.make_lease_book(self.url, self.store)
        self.books.append(book)
        return book

    async def worker(self, seconds: float = 30.0) -> Lease:
        """Register a worker with a lease of so many seconds."""
        lease = new_lease()
        await self.store.workers.register(worker_info(lease.owner), seconds)
        return lease


@asynccontextmanager
async def open_world(url: str) -> AsyncIterator[World]:
    """The world around the database of this URL, which is migrated and empty, and empty again afterwards."""
    if url.startswith("postgres"):
        postgres_clock = PostgresClock(url)
        clock: ManualClock = postgres_clock
        world_url = postgres_clock.url
    else:
        clock, world_url = ManualClock(), url
    world = World(world_url, clock, wiring.make_store(world_url, clock))
    try:
        await world.store.open()
        yield world
    finally:
        for book in world.books:
            book.close()
        for store in (world.store, *world.others):
            await store.close()
        if isinstance(clock, PostgresClock):
            clock.empty_database()
            clock.close()
