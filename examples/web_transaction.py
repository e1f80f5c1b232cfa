"""An order and its confirmation mail in one transaction: both exist, or neither.

Run it with

    python -m examples.web_transaction

It uses orders.db in the current folder, or the database that FAIRLEAD_DATABASE_URL names; with a PostgreSQL URL the
same code runs on psycopg. You will see one order that is committed and whose mail is sent, and one that is refused
after its mail was enqueued, of which nothing remains.

For SQLite it uses apsw, the driver that comes with Fairlead. Python's own sqlite3 carries another copy of the SQLite
library; two copies in one process do not see each other's locks, so Fairlead refuses to share a file with it.
"""

import asyncio
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import psycopg

import fairlead

URL = os.environ.get("FAIRLEAD_DATABASE_URL") or "sqlite:///orders.db"
IS_SQLITE = URL.startswith("sqlite")
CREDIT_LIMIT = 100_00

INSERT = "insert into orders (id, customer, cents) values (?, ?, ?)"
COUNT = "select count(*) from orders where id = ?"

# No hint leaves a foreign transaction, so a worker finds such jobs when it polls; the default is every two seconds.
app = fairlead.App(URL, poll="200ms")


class CreditRefused(Exception):
    """The customer may not buy that much."""


@app.handler("confirm_order")
async def confirm_order(ctx: fairlead.Context, order: str, customer: str) -> str:
    """Tell the customer; the key lets a mail service drop what it has sent before."""
    print(f"  worker: mail to {customer} about order {order[:8]} (key {ctx.idempotency_key[:14]})")
    return "sent"


def place_order(order: str, customer: str, cents: int) -> fairlead.Job:
    """What a web request would do. The credit is checked last, to show that the job goes with the rest."""
    with transaction() as connection:
        execute(connection, INSERT, (order, customer, cents))
        job = confirm_order.options(connection=connection, idempotency_key=f"order:{order}").delay(order, customer)
        if cents > CREDIT_LIMIT:
            raise CreditRefused(f"{customer} may not owe {cents / 100:.2f}")
    return job


@contextmanager
def transaction() -> Iterator[Any]:
    """A connection of the program's own in a transaction that ends with the block."""
    if not IS_SQLITE:
        with psycopg.connect(URL) as connection:  # commits, or rolls back when the block raises
            yield connection
        return
    own = apsw.Connection(URL.removeprefix("sqlite:///"))
    own.set_busy_timeout(5_000)
    own.execute("begin immediate")
    try:
        yield own
        own.execute("commit")
    except BaseException:
        own.execute("rollback")
        raise
    finally:
        own.close()


def execute(connection: Any, statement: str, values: tuple[Any, ...] = ()) -> Any:
    """Run a statement on either driver; they differ in how a parameter is written."""
    return connection.execute(statement if IS_SQLITE else statement.replace("?", "%s"), values)


def report(order: str) -> None:
    """What the database knows about an order."""
    with transaction() as connection:
        (count,) = execute(connection, COUNT, (order,)).fetchone()
    page = app.sync(app.jobs(type="confirm_order", idempotency_key=f"order:{order}"))
    states = ", ".join(job.state for job in page.jobs) or "none"
    print(f"  orders in the database: {count}; jobs: {states}")


async def work_until_done(job: fairlead.Job) -> Any:
    """A worker inside this program; in production it is a process of its own (`fairlead worker`)."""
    async with app.worker():
        return await job.wait(timeout=30)


def main() -> None:
    """Place two orders and see what became of them."""
    app.sync(app.migrate())
    with transaction() as connection:
        execute(connection, "create table if not exists orders (id text primary key, customer text, cents integer)")

    good, bad = str(uuid.uuid4()), str(uuid.uuid4())
    print("An order that is committed")
    job = place_order(good, "ada@example.org", 42_00)
    report(good)

    print("An order that is rolled back after its mail was enqueued")
    try:
        place_order(bad, "bob@example.org", 4_200_00)
    except CreditRefused as refused:
        print(f"  refused: {refused}")
    report(bad)

    print("A worker starts")
    print(f"  result: {app.sync(work_until_done(job))}")
    report(good)
    report(bad)
    asyncio.run(app.close())


if __name__ == "__main__":
    main()
