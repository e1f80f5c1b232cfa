"""Tenants that all have more work than the workers can do, and what each of them gets of their slots."""

import asyncio
import contextlib
from dataclasses import dataclass, field

import fairlead
from fairlead.core.fairness.entitlement import entitled, jain
from fairlead.core.fairness.tenancy import Tenant
from fairlead.handlers.options import Options
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from tests.support.settings import set_tenant

ADA = Operator("ada", "a contest")
LENGTHS = (0.02, 0.2, 2.0)


def make_app(url: str) -> fairlead.App:
    """An app with a type for each length of job: a nap takes a slot, and hardly any of the machine."""
    app = fairlead.App(url, poll="50ms")
    for length in LENGTHS:

        def declare(seconds: float) -> None:
            @app.handler(f"nap-{seconds:g}")
            async def nap() -> None:
                await asyncio.sleep(seconds)

        declare(length)
    return app


@dataclass
class Contest:
    """Entrants with the length of their jobs, on so many workers with so many slots each."""

    url: str
    entrants: list[tuple[Tenant, float]]
    workers: int = 2
    slots: int = 8
    delivered: dict[str, float] = field(default_factory=dict)

    async def run(self, slot_seconds: float) -> None:
        """Let the workers deliver so much, all the entrants having work all the time."""
        async with contextlib.AsyncExitStack() as stack:
            app = await stack.enter_async_context(make_app(self.url))
            store = await app.store()
            await self._enter(app, slot_seconds)
            async with contextlib.AsyncExitStack() as working:
                for _ in range(self.workers):
                    other = await stack.enter_async_context(make_app(self.url))
                    await working.enter_async_context(other.worker(concurrency=self.slots))
                await self._until_delivered(store, slot_seconds)
            self.delivered = {line.tenant: line.delivered for line in await store.shares.ledger(86400)}
            waiting = {found.lane.tenant for found in await store.shares.lane_depths(1)}
            assert waiting == {tenant.name for tenant, _ in self.entrants}, "somebody had no work left"

    @property
    def ratios(self) -> dict[str, float]:
        """Delivered over entitled."""
        total = sum(self.delivered.values())
        due = entitled(
            total, dict.fromkeys(self.delivered, total), {tenant.name: tenant for tenant, _ in self.entrants}
        )
        return {name: amount / due[name] for name, amount in self.delivered.items()}

    @property
    def jain(self) -> float:
        """Jain's index of the ratios."""
        return jain(list(self.ratios.values()))

    async def _until_delivered(self, store: Store, slot_seconds: float) -> None:
        delivered = 0.0
        while delivered < slot_seconds:
            await asyncio.sleep(0.25)
            delivered = sum(line.delivered for line in await store.shares.ledger(86400))

    async def _enter(self, app: fairlead.App, slot_seconds: float) -> None:
        store, client = await app.store(), await app.client()
        total = 2 * slot_seconds
        known = {tenant.name: tenant for tenant, _ in self.entrants}
        due = entitled(total, dict.fromkeys(known, total), known)
        for tenant, length in self.entrants:
            await set_tenant(store, tenant.name, ADA, tenant.tier, tenant.weight, tenant.minimum)
            count = int(due[tenant.name] / length) + 2 * self.workers * self.slots
            spec = app.registry[f"nap-{length:g}"]
            await client.enqueue(spec, [{}] * count, Options(tenant=tenant.name))
