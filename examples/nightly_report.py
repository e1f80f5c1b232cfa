"""A report every night, once, however many servers run; and a payload that has changed since last week.

    python -m examples.nightly_report

runs a worker inside this program, which brings the schedule of the code below into the database, and shows when the
next nights are. On a server you would run `fairlead up examples.nightly_report:app`, on as many as you like.

    python -m examples.nightly_report --now

does not wait for the night: it runs the schedule now and waits for the report. Then it enqueues a payload as the last
release did, which had only a `day`. You will see the old one upgraded.

It uses reports.db in the current folder, or the database that FAIRLEAD_DATABASE_URL names.
"""

import argparse
import asyncio
import os
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import fairlead

URL = os.environ.get("FAIRLEAD_DATABASE_URL") or "sqlite:///reports.db"
BERLIN = ZoneInfo("Europe/Berlin")

app = fairlead.App(URL)


def upgrade(payload: dict[str, Any], version: int) -> dict[str, Any]:
    """Turn a payload of any older version into the current one. Version 1 had one `day` and no `currency`."""
    if version == 1:
        return {"first": payload["day"], "last": payload["day"], "currency": "EUR"}
    raise ValueError(f"version {version} never existed")


@app.handler("nightly_report", version=2, upgrade=upgrade, timeout="10m")
async def nightly_report(first: date, last: date, currency: str = "EUR") -> dict[str, Any]:
    """Add up the days; dates cross the database as text and arrive here as dates again."""
    days = (last - first).days + 1
    return {"days": days, "total": days * 1250, "currency": currency, "until": last.isoformat()}


@app.recurring("0 2 * * *", tz="Europe/Berlin", catch_up="all", catch_up_window="7d", start_within="7d")
@app.handler("close_day")
async def close_day(ctx: fairlead.Context) -> str:
    """Each night ask for the report of the day before; after an outage of days, for each of them."""
    night = ctx.fire_time or datetime.now(UTC)
    day = night.astimezone(BERLIN).date() - timedelta(days=1)
    job = await nightly_report.enqueue(first=day, last=day)
    return job.id


async def show_nights() -> None:
    """The schedule as the database has it, now that a worker has started."""
    schedule = await app.schedules.get("close_day", upcoming=3)
    for night in schedule.next_fires:
        print(f"The day is closed at {night.astimezone(BERLIN):%Y-%m-%d %H:%M %Z}")


async def close_now() -> None:
    """Run the schedule by hand, and wait for the report that it asks for."""
    closing = await app.schedules.run_now("close_day", reason="the example does not wait for the night")
    report = await (await app.client()).wait(await closing.wait(timeout=30), timeout=30)
    print(f"Today's payload: {report.result}")


async def make_old(today: date) -> None:
    """What a server that is not upgraded yet does: it enqueues the same type in version 1."""
    async with fairlead.App(URL) as last_release:

        @last_release.handler("nightly_report")
        async def enqueue_only(day: date) -> None:
            raise NotImplementedError("a worker of the last release would run this")

        job = await enqueue_only.enqueue(today)
        record = await job.read()
        print(f"The last release enqueued version {record.version}: {record.payload}")
        print(f"An old payload:  {await job.wait(timeout=30)}")


async def main(now: bool) -> None:
    """Show the schedule; run it if that was asked for."""
    await app.migrate()
    async with app, app.worker():
        await show_nights()
        if now:
            await close_now()
            await make_old(datetime.now(UTC).date())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A report every night.")
    parser.add_argument("--now", action="store_true", help="do not wait for the night")
    asyncio.run(main(parser.parse_args().now))
