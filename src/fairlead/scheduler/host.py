"""The services that keep a store in order, ready to run in any process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fairlead.config import Settings
from fairlead.errors import FairleadError
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import EVERYONE, LEAD_HINT, RECURRING_HINT, SCHEDULED_HINT
from fairlead.records.store import Store
from fairlead.scheduler.alert import Alerter
from fairlead.scheduler.classify import Classifier
from fairlead.scheduler.declare import Declarer
from fairlead.scheduler.expire import Expirer
from fairlead.scheduler.leader import Leader
from fairlead.scheduler.ledger import LedgerKeeper
from fairlead.scheduler.promote import Promoter
from fairlead.scheduler.prune import Pruner
from fairlead.scheduler.recover import Recoverer
from fairlead.scheduler.recur import Recurrer
from fairlead.scheduler.runner import ServiceHost
from fairlead.scheduler.sample import Sampler
from fairlead.scheduler.watch import Watcher
from fairlead.telemetry.events import Telemetry


@contextlib.asynccontextmanager
async def hosted_services(
    store: Store, settings: Settings, telemetry: Telemetry, registry: Registry | None = None
) -> AsyncIterator[ServiceHost]:
    """Run the services beside the body, and keep the schedules of the app's code in the store."""
    lead = min(settings.lead, settings.lease / 2)
    recover_every = min(2.5, settings.lease / 4)
    host = ServiceHost(
        store,
        [
            Promoter(store, settings.promote_rate, settings.promote_tenant_rate, telemetry),
            Expirer(store, telemetry),
            Recurrer(store, telemetry),
            Recoverer(store, recover_every, telemetry),
            Pruner(store, settings.retention),
            LedgerKeeper(store, settings.ledger_retention),
            Classifier(store, telemetry),
            Sampler(store),
            Watcher(store),
            Alerter(store, telemetry),
        ],
        Leader(store, lead, telemetry),
        telemetry,
    )
    declarer = None if registry is None else Declarer(store, registry, lead, telemetry)
    if declarer is not None:
        with contextlib.suppress(FairleadError):  # its loop tries again, and tells
            await declarer.run_once()
    declaring = ServiceHost(store, [] if declarer is None else [declarer], None, telemetry)
    tasks = [
        asyncio.create_task(host.run(), name="fairlead-services"),
        asyncio.create_task(
            store.jobs.listen(lambda hint: _on_hint(host, declaring, hint)), name="fairlead-service-hints"
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
    """Every process has a declarer; those of one app agree among themselves, whoever leads the services of all apps."""
    try:
        await host.run()
    finally:
        await declarer.resign()


def _on_hint(host: ServiceHost, declaring: ServiceHost, hint: str) -> None:
    if hint in (EVERYONE, LEAD_HINT):
        host.look_for_lead()
        declaring.look_for_lead()
    if hint in (EVERYONE, SCHEDULED_HINT):
        host.wake(Promoter.name)
    if hint in (EVERYONE, RECURRING_HINT):
        host.wake(Recurrer.name)
