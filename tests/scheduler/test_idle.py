"""How much the services ask of a store in which nothing happens."""

from collections.abc import Callable
from typing import Any

from fairlead.config import Settings
from fairlead.records.lanes import KnownLanes
from fairlead.records.store import Store
from fairlead.scheduler.host import make_services
from fairlead.stores.sqlite.store import SqliteStore
from fairlead.telemetry.events import Telemetry

MOST_A_SECOND = 2.8


class CountingStore(SqliteStore):
    """Counts the statements and transactions that are asked for."""

    asked = 0


def counted(name: str) -> Callable[..., Any]:
    async def call(self: CountingStore, *given: Any, **named: Any) -> Any:
        self.asked += 1
        return await getattr(SqliteStore, name)(self, *given, **named)

    return call


for verb in ("ask", "ask_each", "run", "run_each", "transact"):
    setattr(CountingStore, verb, counted(verb))


async def test_idle_services_ask_seldom() -> None:
    """By the pauses that each asks for once it has seen that there is nothing to do."""
    lanes = KnownLanes()
    counting = CountingStore("sqlite:///:memory:", lanes)
    store = Store(counting, lanes)
    await store.open()
    a_second: dict[str, float] = {}
    try:
        for service in make_services(store, Settings(), Telemetry()):
            for _ in range(2):
                before = counting.asked
                pause = await service.run_once()
                a_second[service.name] = (counting.asked - before) / pause
    finally:
        await store.close()
    assert all(rate > 0 for rate in a_second.values())  # the count sees every one of them
    assert sum(a_second.values()) < MOST_A_SECOND, a_second
