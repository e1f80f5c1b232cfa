"""What a campaign is judged by: journals that survive a kill, and the history that the store itself recorded.

Triggers record every change of a job's state or fence, in the order in which each job changed.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import psycopg

TABLES = ("job", "job_history")
REMOVED = "removed"  # from the live jobs; one that has finished is in the history
CHANGES = "select cast(job as text), state, fence from campaign_change order by number"
FINISHED = "select cast(id as text), payload, result from job_history"
ATTEMPTS = "select cast(job_id as text), fence, ending from attempt"

SQLITE_TRIGGERS = """
create table if not exists campaign_change (number integer primary key, job text, state text, fence integer);
create trigger campaign_{table}_insert after insert on {table} begin
    insert into campaign_change (job, state, fence) values (new.id, new.state, new.fence);
end;
create trigger campaign_{table}_update after update of state, fence on {table}
when old.state <> new.state or old.fence <> new.fence begin
    insert into campaign_change (job, state, fence) values (new.id, new.state, new.fence);
end;
"""
SQLITE_REMOVAL = """
create trigger campaign_job_delete after delete on job begin
    insert into campaign_change (job, state, fence) values (old.id, 'removed', old.fence);
end;
"""
POSTGRES_TRIGGERS = """
create table if not exists campaign_change (
    number bigint generated always as identity primary key, job uuid, state text, fence bigint
);
create or replace function campaign_note() returns trigger language plpgsql as $$
begin
    insert into campaign_change (job, state, fence) values (new.id, new.state, new.fence);
    return null;
end $$;
create trigger campaign_{table}_insert after insert on {table} for each row execute function campaign_note();
create trigger campaign_{table}_update after update on {table} for each row
when (old.state <> new.state or old.fence <> new.fence) execute function campaign_note();
"""
POSTGRES_REMOVAL = """
create function campaign_note_removal() returns trigger language plpgsql as $$
begin
    insert into campaign_change (job, state, fence) values (old.id, 'removed', old.fence);
    return null;
end $$;
create trigger campaign_job_delete after delete on job for each row execute function campaign_note_removal();
"""


class Run(NamedTuple):
    """One run of a handler: the claim it belongs to, its process, and when it started and ended (None: it did not)."""

    job: str
    fence: int
    pid: int
    start: float
    end: float | None


class Change(NamedTuple):
    """The state and fence of a job after one of its changes."""

    state: str
    fence: int


UNTOUCHED = (Change("ready", 0), Change("scheduled", 0))


class History(NamedTuple):
    """Everything that the checker compares. Each submission has a number of its own, which its job's payload has."""

    asked: set[str]
    accepted: dict[str, str]  # the id of each number that was accepted
    runs: list[Run]
    changes: dict[str, list[Change]]
    endings: dict[tuple[str, int], str]  # how the runs ended that have an attempt row, by job and fence
    numbers: dict[str, str]  # the number of each finished job
    results: dict[str, int]  # the fence that each succeeded job returned


def append(path: str | Path, *words: object) -> None:
    """Append one line; the kernel keeps it whatever happens to this process."""
    journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(journal, (" ".join(map(str, words)) + "\n").encode())
    os.close(journal)


def record_changes(url: str) -> None:
    """Make the database record each change of a job."""
    if url.startswith("sqlite"):
        with apsw.Connection(_path(url)) as connection:
            connection.execute("".join(SQLITE_TRIGGERS.format(table=table) for table in TABLES) + SQLITE_REMOVAL)
        return connection.close()
    with psycopg.connect(url, autocommit=True) as database:
        for statements in (*(POSTGRES_TRIGGERS.format(table=table) for table in TABLES), POSTGRES_REMOVAL):
            database.execute(statements.encode())


def read_history(url: str, folder: Path) -> History:
    """The journals of producers and handlers, and what the store recorded."""
    changes: dict[str, list[Change]] = defaultdict(list)
    for job, state, fence in _rows(url, CHANGES):
        if state != REMOVED:
            changes[job].append(Change(state, fence))
        elif changes[job] and changes[job][-1] in UNTOUCHED:
            changes[job].pop()  # a repeated submission of a job that has finished is withdrawn in its transaction
    finished = list(_rows(url, FINISHED))
    submissions = list(_lines(folder / "submissions"))
    return History(
        {number for what, number, _ in submissions if what == "asked"},
        {number: job for what, number, job in submissions if what == "accepted"},
        read_runs(folder / "journal"),
        dict(changes),
        {(job, fence): ending for job, fence, ending in _rows(url, ATTEMPTS)},
        {job: json.loads(payload)["number"] for job, payload, _ in finished},
        {job: json.loads(result) for job, _, result in finished if result is not None},
    )


def read_runs(path: Path) -> list[Run]:
    """The runs of the handlers' journal; one that started twice under one claim is there twice."""
    runs: list[Run] = []
    open_runs: dict[tuple[str, str, str], int] = {}
    for what, job, fence, pid, moment in _lines(path):
        if what == "start":
            open_runs[job, fence, pid] = len(runs)
            runs.append(Run(job, int(fence), int(pid), float(moment), None))
        else:
            place = open_runs[job, fence, pid]
            runs[place] = runs[place]._replace(end=float(moment))
    return runs


def _rows(url: str, query: str) -> Iterator[tuple[Any, ...]]:
    if url.startswith("sqlite"):
        connection = apsw.Connection(_path(url))
        yield from connection.execute(query)
        return connection.close()
    with psycopg.connect(url) as database:
        yield from database.execute(query.encode())


def _lines(path: Path) -> Iterator[list[str]]:
    if path.exists():
        with path.open() as lines:
            yield from (line.split() for line in lines)


def _path(url: str) -> str:
    return url.removeprefix("sqlite:///")
