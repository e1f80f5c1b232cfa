"""Types move between pools by what their jobs took."""

import json
from dataclasses import replace

import fairlead
from fairlead.core.fairness.run_times import RunCount, bucket_of
from fairlead.scheduler.classify import Classifier
from fairlead.telemetry.events import Event, Telemetry, TypeMoved
from tests.contract.making import new_lease, worker_info

POOLS = ("short", "medium", "long")
SLOW = [RunCount("mail", bucket_of(2.0), 300, 600.0), RunCount("fixed", bucket_of(2.0), 300, 600.0)]


async def test_future_jobs_of_a_slow_type_go_to_another_pool(store_url: str) -> None:
    app = fairlead.App(store_url)
    events: list[Event] = []
    telemetry = Telemetry()
    telemetry.listen(events.append)

    @app.handler("mail")
    async def mail() -> None: ...

    @app.handler("fixed", fixed_pool=True)
    async def fixed() -> None: ...

    async with app:
        store = await app.store()
        await store.types.register([app.registry[name].job_type() for name in app.registry])
        assert (await app.read((await mail.enqueue()).id)).pool == "short"
        await store.shares.record_usage([], SLOW)
        classifier = Classifier(store, telemetry)
        await classifier.run_once()
        assert events == []  # nobody serves it elsewhere
        await store.workers.register(
            replace(worker_info(new_lease().owner), types=("mail", "fixed"), pools=POOLS), 60.0
        )
        await classifier.run_once()
        await classifier.run_once()  # it has moved, and stays
        (moved,) = [event for event in events if isinstance(event, TypeMoved)]
        assert (moved.type, moved.old, moved.new) == ("mail", "short", "medium")
        assert "300 of 300 runs" in moved.why
        (entry,) = await store.audit.about("type mail", 10)
        assert (entry.actor, entry.action) == ("fairlead classify", "move")
        assert json.loads(entry.details) == {"old": "short", "new": "medium", "why": moved.why}
        await (await app.client()).refresh()
        assert (await app.read((await mail.enqueue()).id)).pool == "medium"
        assert (await app.read((await mail.options(pool="short").enqueue()).id)).pool == "short"
        assert (await app.read((await fixed.enqueue()).id)).pool == "short"
