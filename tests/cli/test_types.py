"""`fairlead types`, and progress in `fairlead jobs show`."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import fairlead
from fairlead.core.fairness.run_times import RunCount, bucket_of
from fairlead.core.insight.audit import AuditNote
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.pools import PLACE
from fairlead.core.protection.controls import Change
from fairlead.records.store import Store
from tests.cli.conftest import HOSTILE, Run, Shop


def on_store(shop: Shop, act: Callable[[Store], Awaitable[object]]) -> None:
    """Do something to the store behind the commands."""

    async def opened() -> None:
        async with shop.app:
            await act(await shop.app.store())

    asyncio.run(opened())


def measured(shop: Shop) -> None:
    """Runs of the last day, and a move."""

    async def write(store: Store) -> None:
        counts = [RunCount("greet", bucket_of(0.5), 90, 45.0), RunCount("greet", bucket_of(4.0), 10, 40.0)]
        await store.shares.record_usage([], counts, [WaitCount("medium", bucket_of(0.25), 7)])
        details = {"old": "medium", "new": "long", "why": f"slow {HOSTILE}"}
        note = AuditNote("fairlead classify", "move", "type greet", details)
        await store.controls.change([Change(PLACE, "greet", {"pool": "long"})], note)

    on_store(shop, write)


def test_types_are_listed_with_how_long_they_run(run: Run, any_shop: Shop) -> None:
    measured(any_shop)
    document = json.loads(run("types", "list", "--database", any_shop.url, "--json").stdout)
    fail, greet = document["types"]
    assert (fail["name"], fail["runs"]) == ("fail", None)
    assert (greet["pool"], greet["place"]) == ("medium", "long")
    assert greet["runs"] == {"count": 100, "p50": 0.5625, "p95": 4.5, "p99": 4.5}
    lines = run("types", "list", "--database", any_shop.url).stdout.splitlines()
    assert lines[2].split()[:5] == ["greet", "3", "medium", "long", "100"]


def test_a_type_is_shown_with_its_histogram_history_and_retries(run: Run, any_shop: Shop) -> None:
    measured(any_shop)
    document = json.loads(run("types", "show", "greet", "--database", any_shop.url, "--json").stdout)
    assert [bar["runs"] for bar in document["histogram"]] == [90, 0, 0, 0, 0, 0, 10]
    assert [event["new"] for event in document["events"]] == ["long"]
    assert len(document["retries"]["application"]["attempts"]) == 4
    shown = run("types", "show", "greet", "--database", any_shop.url).stdout
    assert "pool medium, new jobs go to long" in shown
    assert "95 % 4.5s" in shown
    assert "█" * 40 in shown
    assert "move from medium to long" in shown
    assert "4 attempts" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_type_that_never_ran_and_one_that_is_not_there(run: Run, shop: Shop) -> None:
    shown = run("types", "show", "fail", "--database", shop.url).stdout
    assert "runs of the last day\nnone" in shown
    assert run("types", "show", "nothing", "--database", shop.url).exit_code == 3


def test_a_job_shows_how_far_it_came(run: Run, shop: Shop) -> None:
    @shop.app.handler("parse")
    async def parse(ctx: fairlead.Context, message: str) -> None:
        await ctx.progress(30, 120, message)

    (job_id,) = shop.work((parse, {"message": HOSTILE}))
    progress = json.loads(run("jobs", "show", job_id, "--database", shop.url, "--json").stdout)["progress"]
    assert (progress["fraction"], progress["done"], progress["total"]) == (0.25, 30.0, 120.0)
    shown = run("jobs", "show", job_id, "--database", shop.url).stdout
    assert f"{'█' * 6}{'░' * 18} 25% (30 of 120) [bold red]x[/]" in shown
    assert "\x1b" not in shown
