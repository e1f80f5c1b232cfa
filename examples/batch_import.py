"""Import a CSV file, a job a row; run it again and nothing is imported twice.

Run it twice with

    python -m examples.batch_import [--rows 3000] [--file customers.csv]

The file is written first if it is not there. It uses import.db in the current folder, or the database that
FAIRLEAD_DATABASE_URL names. You will see the rows being submitted, the progress until all are done, and the few rows
that are wrong, with the reason. The second run submits the same rows and finds that all of them are there already.

Each row has an idempotency key of its own, so the rows are enqueued one by one, but at the same time: Fairlead gathers
concurrent submissions into few statements, and each caller still waits for its own commit. Without keys,
`import_row.enqueue_many(calls)` does the same in one call.
"""

import argparse
import asyncio
import csv
import os
import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import fairlead

POOL = "import"
AT_ONCE = 1000

app = fairlead.App(os.environ.get("FAIRLEAD_DATABASE_URL") or "sqlite:///import.db")


class BadRow(Exception):
    """A row that nobody can import; trying again would not help."""


@app.handler("import_row", pool=POOL, retry=fairlead.Retry(attempts=1))
async def import_row(number: int, name: str, email: str) -> dict[str, str]:
    """Check and clean one row; a real importer would write it into its own tables."""
    if "@" not in email:
        raise BadRow(f"row {number}: {email!r} is not an address")
    await asyncio.sleep(0.001)
    return {"name": name.title(), "email": email.lower()}


def write_example(path: Path, rows: int) -> None:
    """A file of customers, a few of whom mistyped their address."""
    dice = random.Random(7)
    names = ("ada", "alan", "barbara", "edsger", "grace", "john", "niklaus", "radia")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("number", "name", "email"))
        for number in range(1, rows + 1):
            name = dice.choice(names)
            at = " at " if number % 1000 == 500 else "@"
            writer.writerow((number, name, f"{name}.{number}{at}Example.org"))


def read_rows(path: Path) -> Iterator[list[dict[str, str]]]:
    """The rows of a file, some at a time, so that a large file never is in memory."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        while rows := list(islice(reader, AT_ONCE)):
            yield rows


async def submit(path: Path) -> tuple[int, int]:
    """Enqueue every row; returns how many there are and how many of them were there before."""
    total = known = 0
    for rows in read_rows(path):
        jobs = await asyncio.gather(*(_submit_row(path.name, row) for row in rows))
        total += len(jobs)
        known += sum(job.duplicate for job in jobs)
    return total, known


async def _submit_row(file: str, row: dict[str, str]) -> fairlead.Job:
    keyed = import_row.options(idempotency_key=f"{file}:{row['number']}", idempotency_scope="forever")
    return await keyed.enqueue(int(row["number"]), row["name"], row["email"])


async def show_progress(total: int) -> None:
    """Print how many rows are left until none is."""
    store = await app.store()
    while left := sum(count for (pool, _), count in (await store.reader.count_jobs()).items() if pool == POOL):
        print(f"  {total - left:,} of {total:,} rows done")
        await asyncio.sleep(0.25)
    print(f"  {total:,} of {total:,} rows done")


async def show_dead() -> None:
    """Print the rows that could not be imported; a listing comes a page at a time."""
    cursor, count = None, 0
    while True:
        page = await app.jobs(states=(fairlead.State.DEAD,), type="import_row", limit=500, cursor=cursor)
        for job in page.jobs:
            print(f"  {job.error.message if job.error else job.id}")
        count += len(page.jobs)
        cursor = page.cursor
        if cursor is None:
            break
    print(f"  {count} rows could not be imported")


async def main(path: Path) -> None:
    """Submit the file, work on it, and show what became of it."""
    await app.migrate()
    async with app:
        started = time.monotonic()
        total, known = await submit(path)
        print(f"{total - known:,} rows submitted, {known:,} were there before ({time.monotonic() - started:.1f} s)")
        async with app.worker(pools=(POOL,), concurrency=100):
            await show_progress(total)
        await show_dead()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Import a CSV file, a job a row.")
    parser.add_argument("--rows", type=int, default=3000, help="how many rows to write if there is no file")
    parser.add_argument("--file", type=Path, default=Path("customers.csv"))
    arguments = parser.parse_args()
    if not arguments.file.exists():
        write_example(arguments.file, arguments.rows)
    asyncio.run(main(arguments.file))
