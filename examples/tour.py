"""A little town of tenants that keeps a worker busy for as long as you like.

Run it with

    make run

or, in an environment where Fairlead is installed,

    fairlead up examples.tour:app --start visitors

It uses tour.db in the current folder, or the database that FAIRLEAD_DATABASE_URL names (on PostgreSQL run
`fairlead migrate` once before). You will see a few jobs end every second: mails, thumbnails and charges that succeed,
now and then a report that takes seconds, and each minute a tally that a schedule makes. One thing is wrong in this
town: some visitors still ask for a sync with a mainframe that was switched off, whose jobs become dead letters. Find
them on the page of dead letters, or with `fairlead jobs groups`. Ctrl-C stops it within seconds.

The stream is made by `visitors`: each run submits what happens in one second and then its own successor. The successor
carries an idempotency key made of the second it stands for, so that two starts, or ten, still make one stream.
"""

import asyncio
import os
import random
import time
from typing import Any

import fairlead

TENANTS = ("bakery", "bookshop", "florist", "library", "museum")
SECOND = 1.0

app = fairlead.App(None if os.environ.get("FAIRLEAD_DATABASE_URL") else "sqlite:///tour.db", drain="3s")


class BankUnavailable(Exception):
    """The bank of this town did not answer; it does not happen often."""


@app.handler("send_email")
async def send_email(recipient: str, subject: str) -> str:
    """Short, asynchronous work: it waits for a mail server."""
    await asyncio.sleep(random.uniform(0.02, 0.15))
    return f"sent {subject!r} to {recipient}"


@app.handler("thumbnail", pool="medium", timeout="30s")
def thumbnail(image: str, width: int = 160) -> dict[str, str | int]:
    """A plain function: it runs in a thread, so it may block."""
    time.sleep(random.uniform(0.2, 0.8))
    return {"image": image, "width": width, "height": width * 3 // 4}


@app.handler(
    "charge_card",
    timeout="5s",
    retry=fairlead.Retry(attempts=6, first="1s", factor=2),
    limit=fairlead.Limit("bank", concurrent=5, rate="20/s"),
)
async def charge_card(ctx: fairlead.Context, order: int, cents: int) -> str:
    """A call to somebody else's service. The key is the same in every attempt, so the bank charges once."""
    await asyncio.sleep(random.uniform(0.05, 0.2))
    if random.random() < 0.03:
        raise BankUnavailable(f"503 for order {order}, key {ctx.idempotency_key}")
    return f"charged {cents / 100:.2f}"


@app.handler("legacy_sync", retry=fairlead.Retry(attempts=2, first="2s"), breaker=fairlead.Breaker.off())
async def legacy_sync(host: str) -> None:
    """Always fails, and is dead after its second attempt: `fairlead jobs list --state dead` shows it."""
    raise ConnectionRefusedError(f"{host} was switched off years ago")


@app.handler("monthly_report", pool="long", timeout="1m")
def monthly_report(ctx: fairlead.Context, month: int) -> dict[str, int]:
    """Slow work; in a pool of its own kind it can be given workers of its own. It says how far it has come."""
    pages = 10 + month
    for page in range(pages):
        ctx.blocking.progress(page, pages, f"writing page {page + 1} of month {month}")
        time.sleep(random.uniform(3, 6) / pages)
    return {"month": month, "pages": pages}


@app.recurring("* * * * *")
@app.handler("tally")
async def tally() -> str:
    """Made each minute by its schedule, whoever leads."""
    return f"counted {random.randrange(1_000)} coins"


@app.handler("visitors", retry=fairlead.Retry(attempts=50, cap="10s"))
async def visitors(second: int | None = None) -> int | None:
    """Submit what happens in this second, then the successor; the very first run only begins the stream."""
    if second is not None:
        await _let_things_happen(second)
    following = max(second or 0, int(time.time() / SECOND)) + 1
    successor = visitors.options(
        run_in=max(0.0, following * SECOND - time.time()),
        idempotency_key=f"visitors:{following}",
        idempotency_scope="window",
        idempotency_window="1h",
    )
    await successor.enqueue(second=following)
    return second


async def _let_things_happen(second: int) -> None:
    """The second seeds the dice and is part of every key: a repeated run submits the same jobs, which adds none."""
    dice = random.Random(second)
    await asyncio.gather(*(_visit(dice.randrange(1_000_000), second, number) for number in range(dice.randint(2, 4))))


async def _visit(dots: int, second: int, number: int) -> None:
    dice = random.Random(dots)
    tenant = dice.choice(TENANTS)
    about: dict[str, Any] = {
        "tenant": tenant,
        "idempotency_key": f"visit:{second}:{number}",
        "idempotency_scope": "window",
        "idempotency_window": "1h",
    }
    kind = dice.random()
    if kind < 0.45:
        await send_email.options(**about).enqueue(f"visitor{number}@{tenant}.example", "Welcome")
    elif kind < 0.70:
        await thumbnail.options(**about).enqueue(f"{tenant}-{second}.jpg")
    elif kind < 0.93:
        await charge_card.options(priority="high", **about).enqueue(order=second, cents=dice.randint(100, 9_900))
    elif kind < 0.985:
        await monthly_report.options(priority="low", **about).enqueue(month=dice.randint(1, 12))
    else:
        await legacy_sync.options(**about).enqueue(host=f"mainframe.{tenant}.example")
