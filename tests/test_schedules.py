"""Recurring jobs through the public surface, on every store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

import fairlead
from fairlead.recurring import firing as recur
from fairlead.recurring.firing import Recurrer
from fairlead.telemetry.events import Event, ScheduleFired, SchedulesDeclared
from tests.support.processes import until


class Office:
    """An app with a handler, and what it was called with."""

    def __init__(self, url: str) -> None:
        self.app = fairlead.App(url, name="office", poll="100ms")
        self.seen: list[fairlead.Context] = []
        self.events: list[Event] = []
        self.app.on_event(self.events.append, jobs=False)

        @self.app.handler("report")
        async def report(ctx: fairlead.Context, region: str = "eu") -> str:
            self.seen.append(ctx)
            return region

        self.report = report


@pytest.fixture
async def office(store_url: str) -> AsyncIterator[Office]:
    """An office on an empty store."""
    made = Office(store_url)
    async with made.app:
        yield made


async def told(office: Office, kind: type[Event]) -> None:
    """Wait until the services have told this."""
    await until(lambda: any(isinstance(event, kind) for event in office.events), kind.__name__)


async def test_a_declared_schedule_runs_its_handler_again_and_again(office: Office) -> None:
    office.app.recurring("every 50ms", payload={"region": "us"}, tenant="acme", catch_up="all")(office.report)
    async with office.app.worker():
        await until(lambda: len(office.seen) >= 5, "five runs")
    times = [ctx.fire_time for ctx in office.seen]
    assert len(times) == len(set(times))
    assert all(moment is not None and moment.microsecond % 50_000 == 0 for moment in times)
    assert {(ctx.schedule, ctx.tenant) for ctx in office.seen} == {("report", "acme")}
    record = await office.app.schedules.get("report", past=1)
    assert (record.app, record.state, record.expression) == ("office", fairlead.ScheduleState.ACTIVE, "every 50ms")


async def test_the_decorator_is_stacked_on_the_handler(store_url: str) -> None:
    app = fairlead.App(store_url)

    @app.recurring("@daily", name="nightly", tz="Europe/Berlin")
    @app.recurring("0 9 * * 1-5", start_within="1h", priority="low", retry=fairlead.Retry(attempts=2))
    @app.handler("report")
    async def report(region: str = "eu") -> str:
        return region

    assert await report("asia") == "asia"
    assert {spec.name: spec.expression for spec in app.registry.schedules.values()} == {
        "report": "0 9 * * 1-5",
        "nightly": "@daily",
    }
    assert app.registry.schedules["report"].lane.priority is fairlead.Priority.LOW


async def test_a_schedule_is_added_shown_changed_and_removed(office: Office) -> None:
    schedules = office.app.schedules
    made = await schedules.add("eu", "0 9 * * 1-5", office.report, {"region": "eu"}, tz="Europe/Berlin")
    assert (made.name, made.tz, made.type, made.app, made.fires) == ("eu", "Europe/Berlin", "report", None, ())
    assert len(made.next_fires) == 5
    assert all(moment.astimezone(UTC).hour in (7, 8) and moment.weekday() < 5 for moment in made.next_fires)
    changed = await schedules.change("eu", expression="@hourly", tenant="acme", payload={"region": "us"})
    assert (changed.expression, changed.tenant, changed.payload) == ("@hourly", "acme", '{"region":"us"}')
    assert changed.tz == "Europe/Berlin"
    assert [item.name for item in await schedules.list()] == ["eu"]
    await schedules.remove("eu", reason="nobody reads it")
    with pytest.raises(fairlead.ScheduleNotFound, match="no schedule 'eu'"):
        await schedules.get("eu")
    entries = await (await office.app.store()).audit.read(10)
    assert [entry.action for entry in entries] == ["schedule remove", "schedule change", "schedule add"]


async def test_a_change_in_the_middle_of_fires_loses_none_and_doubles_none(office: Office) -> None:
    schedules = office.app.schedules
    await schedules.add("dense", "every 20ms", office.report, catch_up="all")
    async with office.app.worker():
        await until(lambda: len(office.seen) >= 10, "fires on the old terms")
        await schedules.change("dense", expression="every 30ms")
        before = len(office.seen)
        await until(lambda: len(office.seen) >= before + 20, "fires on the new terms")
    moments = sorted(round(ctx.fire_time.timestamp() * 1000) for ctx in office.seen if ctx.fire_time is not None)
    steps = [later - earlier for earlier, later in pairwise(moments)]
    change = len(steps) - steps[::-1].index(20)  # the place after the last step of the old terms
    old, new = moments[: change + 1], moments[change + 1 :]
    assert set(steps[:change]) == {20}
    assert set(steps[change + 1 :]) == {30}
    assert max(old[-1], new[0] - 30) < min(old[-1] + 20, new[0]), "an instant after which all that is due is due anew"


async def test_a_schedule_runs_now_while_paused_and_its_result_is_shown(office: Office) -> None:
    schedules = office.app.schedules
    await schedules.add("eu", "@yearly", office.report)
    await schedules.pause("eu")
    async with office.app.worker():
        job = await schedules.run_now("eu")
        assert await job.wait(timeout=30) == "eu"
    record = await schedules.get("eu")
    assert (record.state, record.next_fires) == (fairlead.ScheduleState.PAUSED, ())
    (fire,) = record.fires
    assert (fire.job_id, fire.job_state, fire.manual) == (job.id, fairlead.State.SUCCEEDED, True)
    await schedules.resume("eu")
    assert len((await schedules.get("eu", upcoming=2)).next_fires) == 2


async def test_a_new_schedule_wakes_a_scheduler_that_would_sleep_for_an_hour(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    real = Recurrer.run_once

    async def observed(recurrer: Recurrer) -> float:
        pauses.append(await real(recurrer))
        return pauses[-1]

    monkeypatch.setattr(recur, "LONGEST_SLEEP", 3600.0)
    monkeypatch.setattr(Recurrer, "run_once", observed)
    async with office.app.worker():
        await until(lambda: bool(pauses), "the first look")
        assert pauses == [3600.0] * len(pauses)
        await office.app.schedules.add("soon", "every 100ms", office.report)
        await told(office, ScheduleFired)


async def test_what_a_type_needs_is_checked_when_a_schedule_is_made(office: Office) -> None:
    schedules = office.app.schedules
    with pytest.raises(fairlead.InvalidArguments, match="region"):
        await schedules.add("x", "@daily", office.report, {"region": 5})
    with pytest.raises(fairlead.UnknownType, match="nothing"):
        await schedules.add("x", "@daily", "nothing")
    with pytest.raises(fairlead.InvalidArguments, match="continent"):
        office.app.recurring("@daily", payload={"continent": "eu"})(office.report)
    assert await schedules.list() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"expression": "61 * * * *"}, "Bad minute"),
        ({"expression": "0 0 30 2 *"}, "is not a schedule"),
        ({"expression": "@sometimes"}, "@hourly"),
        ({"expression": "every 1ms"}, "10ms"),
        ({"tz": "Mars/Olympus"}, "time zone"),
        ({"overlap": "perhaps"}, "allow, skip, queue_one"),
        ({"catch_up": "perhaps"}, "none, last, all"),
        ({"tenant": "a b"}, "tenant"),
        ({"colour": "red"}, "no 'colour'"),
        ({"timeout": "soon"}, "duration"),
    ],
)
async def test_terms_that_cannot_work_are_refused(office: Office, change: dict[str, Any], words: str) -> None:
    await office.app.schedules.add("eu", "@daily", office.report)
    with pytest.raises(fairlead.ConfigError, match=words):
        await office.app.schedules.change("eu", **change)
    assert (await office.app.schedules.get("eu")).expression == "@daily"


async def test_a_schedule_for_a_type_that_only_the_database_knows(office: Office, store_url: str) -> None:
    store = await office.app.store()
    await store.types.register([office.app.registry["report"].job_type()])
    if store_url != "sqlite:///:memory:":
        async with fairlead.App(store_url) as stranger:
            made = await stranger.schedules.add("eu", "@daily", "report", {"region": "us"})
            assert (made.type, made.payload) == ("report", '{"region":"us"}')
            with pytest.raises(fairlead.InvalidArguments, match="region"):
                await stranger.schedules.add("x", "@daily", "report", {"region": 5})


async def test_names_are_unique_and_code_keeps_its_own(office: Office) -> None:
    office.app.recurring("@daily")(office.report)
    with pytest.raises(fairlead.ConfigError, match="declared twice"):
        office.app.recurring("@hourly")(office.report)
    schedules = office.app.schedules
    async with office.app.worker():
        assert SchedulesDeclared("office", 1, 0) in office.events
        with pytest.raises(fairlead.ScheduleRefused, match="already"):
            await schedules.add("report", "@hourly", office.report)
        for refused in (schedules.change("report", expression="@hourly"), schedules.remove("report")):
            with pytest.raises(fairlead.ScheduleRefused, match="declared in the code of office"):
                await refused
    await schedules.remove("report")  # the app that declared it runs no more
    assert await schedules.list() == []


def test_only_a_handler_can_recur() -> None:
    app = fairlead.App("sqlite:///:memory:")
    with pytest.raises(fairlead.ConfigError, match=r"above @app\.handler"):
        app.recurring("@daily")(lambda: None)  # type: ignore[type-var]


async def test_the_next_fires_are_those_of_the_zone(office: Office) -> None:
    await office.app.schedules.add("eu", "30 2 * * *", office.report, tz="Asia/Kolkata")
    (first, second) = (await office.app.schedules.get("eu", upcoming=2)).next_fires
    assert (first.hour, first.minute) == (21, 0)
    assert second - first == timedelta(days=1)
    assert first > datetime.now(UTC)
