"""Starts the services in a process: builds them with their leader, and wakes them on hints."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fairlead.config import Settings
from fairlead.errors import FairleadError
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import CONTROLS_HINT, EVERYONE, LEAD_HINT, RECURRING_HINT, SCHEDULED_HINT
from fairlead.records.store import Store
from fairlead.recurring.declaring import Declarer
from fairlead.recurring.firing import Recurrer
from fairlead.scheduler.alert import Alerter
from fairlead.scheduler.classify import Classifier
from fairlead.scheduler.expire import Expirer
from fairlead.scheduler.leader import Leader
from fairlead.scheduler.ledger import LedgerKeeper
from fairlead.scheduler.promote import Promoter
from fairlead.scheduler.prune import Pruner
from fairlead.scheduler.recover import Recoverer
from fairlead.scheduler.runner import Service, ServiceHost
from fairlead.scheduler.sample import Sampler
from fairlead.scheduler.watch import Watcher
from fairlead.telemetry.events import Telemetry


def make_services(store: Store, settings: Settings, telemetry: Telemetry) -> list[Service]:
    """The services that run under the leader."""
    return [
        Promoter(store, settings.promote_rate, settings.promote_tenant_rate, telemetry),
        Expirer(store, telemetry),
        Recurrer(store, telemetry),
        Recoverer(store, min(2.5, settings.lease / 4), telemetry),
        Pruner(store, settings.retention),
        LedgerKeeper(store, settings.ledger_retention),
        Classifier(store, telemetry),
        Sampler(store),
        Watcher(store),
        Alerter(store, telemetry),
    ]


@contextlib.asynccontextmanager
async def hosted_services(
    store: Store, settings: Settings, telemetry: Telemetry, registry: Registry | None = None
) -> AsyncIterator[ServiceHost]:
    """Run the services while the body runs, and declare the schedules of the app's code."""
    lead = min(settings.lead, settings.lease / 2)
    services = make_services(store, settings, telemetry)
    watcher = next(service for service in services if isinstance(service, Watcher))
    host = ServiceHost(
        store,
        services,
        Leader(store, lead, telemetry),
        telemetry,
    )
    declarer = None if registry is None else Declarer(store, registry, settings.lease, telemetry)
    if declarer is not None:
        with contextlib.suppress(FairleadError):  # the declarer's loop tries again and reports
            await declarer.run_once()
    declaring = ServiceHost(store, [] if declarer is None else [declarer], None, telemetry)
    tasks = [
        asyncio.create_task(host.run(), name="fairlead-services"),
        asyncio.create_task(
            store.jobs.listen(lambda hint: _on_hint(host, declaring, watcher, hint)), name="fairlead-service-hints"
        ),
    ]
    if declarer is not None:
        tasks.append(asyncio.create_task(_declaring(declaring, declarer), name="fairlead-declare"))
    try:
        yield host
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _declaring(host: ServiceHost, declarer: Declarer) -> None:
    """Run the declarer; the declarers of one app elect a leader of their own."""
    try:
        await host.run()
    finally:
        await declarer.resign()


def _on_hint(host: ServiceHost, declaring: ServiceHost, watcher: Watcher, hint: str) -> None:
    if hint in (EVERYONE, LEAD_HINT):
        host.look_for_lead()
        declaring.look_for_lead()
    if hint in (EVERYONE, SCHEDULED_HINT):
        host.wake(Promoter.name)
    if hint in (EVERYONE, RECURRING_HINT):
        host.wake(Recurrer.name)
    if hint in (EVERYONE, CONTROLS_HINT):
        host.wake(Sampler.name)
    if watcher.is_resting and not hint.startswith("@"):  # work in a pool
        host.wake(Watcher.name)
