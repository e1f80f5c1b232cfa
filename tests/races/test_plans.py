"""Query plans on PostgreSQL: no hot statement may read the whole table of jobs, whatever the statistics say."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Claim, Ending, Quota
from fairlead.records import rows
from fairlead.stores.postgres.connection import query
from fairlead.stores.postgres.database import SHARD
from fairlead.stores.postgres.settling import NOBODY
from fairlead.stores.settling import settlement_row
from tests.conftest import migrate_now
from tests.contract.making import LANE, ended, new_lease
from tests.support.postgres import DatabaseServer

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("plans")]  # loaded once, in one process

JOBS = 100_000
FEW = 200
LANES = 20
LISTING = {"shard": SHARD, "limit": FEW, "cursor": None, "floor": None, "containing": None}

LOAD = f"""
insert into job (
    id, shard, lane, state, attempt, crashes, fence, owner, lease, run_at, ready_at, not_after, created_at, started_at,
    payload
)
select
    gen_random_uuid(), 0, mod(number, {LANES}), state, 1, 0, 1,
    case when state = 'running' then owners.owner end, case when state = 'running' then owners.owner end,
    now() - number * interval '1 millisecond', case when state = 'ready' then now() end,
    case when mod(number, 10) = 0 then now() + (number - {JOBS} / 2) * interval '1 second' end, now(), now(), '{{}}'
from generate_series(1, %s) as number
cross join lateral (
    select (array['ready', 'ready', 'ready', 'ready', 'running', 'scheduled', 'retrying', 'ready'])[mod(number, 8) + 1]
) as states(state)
cross join lateral (select ('00000000-0000-0000-0000-' || lpad(mod(number, 40)::text, 12, '0'))::uuid) as owners(owner)
"""
# One lane has as many jobs again, and they come before all others in the order of time.
HERD = f"""
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, created_at, payload)
select gen_random_uuid(), 0, {LANES // 2}, 'scheduled', 0, 0, 0, now() - interval '1 day', now(), '{{}}'
from generate_series(1, %s)
"""
LOAD_LANES = f"""
insert into lane (id, pool, tenant, type, priority, version)
select number, 'default', 'tenant-' || number, 'mail', 2, 1 from generate_series(0, {LANES}) as number
"""

LOAD_SCHEDULES = """
insert into schedule (
    name, shard, state, version, expression, zone, pool, tenant, type, priority, type_version, payload, overlap,
    catch_up, catch_up_window, handled_until, next_at, created_at, updated_at
)
select
    'schedule-' || number, 0, 'active', 1, '@daily', 'UTC', 'short', 'acme', 'mail', 2, 1, '{}', 'skip', 'last', 1.0,
    now(), now(), now(), now()
from generate_series(1, 20) as number
"""
LOAD_FIRES = """
insert into schedule_fire (schedule, shard, fire_at, manual, outcome, count, job_id, recorded_at)
select 'schedule-' || mod(row_number() over (), 20) + 1, 0, now() - row_number() over () * interval '1 second', false,
    'fired', 1, id, now()
from job limit 1500
"""

LOAD_PROGRESS = """
insert into progress (job_id, shard, fence, done, total, message, at)
select id, shard, fence, 0.5, null, 'half of it', now() from job where fence > 0
"""

STATEMENTS = [
    "claim", "settle_succeeded", "settle", "active_lanes", "revive", "remove_revived",
    "promote", "lost", "held", "read_many", "withdraw_finished", "due", "due_lanes", "promote_lanes", "late",
    "read_ended", "request_cancel", "cancel_requests", "remember_effect", "report_progress", "read_progress",
    "due_schedules", "see_schedule", "trim_fires",
    "count_running", "amend_waiting", "count_ahead",
]  # fmt: skip


@pytest.fixture(scope="module", params=["never analysed", "analysed when nearly empty"])
def loaded(request: pytest.FixtureRequest, postgres_server: DatabaseServer, temporary_root: Any) -> str:
    """A database with many jobs and statistics that mislead."""
    url = postgres_server.create_database(f"fairlead_plans_{uuid4().hex}")
    migrate_now(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table job set (autovacuum_enabled = false)")
        connection.execute("alter table progress set (autovacuum_enabled = false)")
        connection.execute(LOAD_LANES.encode())
        if request.param == "analysed when nearly empty":
            connection.execute(LOAD.encode(), [16])
            connection.execute("analyze")
        connection.execute(LOAD.encode(), [JOBS])
        connection.execute(LOAD_SCHEDULES.encode())
        connection.execute(LOAD_FIRES.encode())
        connection.execute(HERD.encode(), [JOBS])
        connection.execute(LOAD_PROGRESS.encode())
    return url


@pytest.fixture(params=["custom plan", "generic plan"])
def connection(loaded: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    """A connection that plans with the values, or, like a prepared statement, without them."""
    mode = "force_generic_plan" if request.param == "generic plan" else "force_custom_plan"
    with psycopg.connect(loaded, options=f"-c plan_cache_mode={mode}") as opened:
        opened.prepare_threshold = 0
        yield opened
        opened.rollback()


def settlements(connection: psycopg.Connection[Any], ending: Ending) -> str:
    """Settlements of running jobs."""
    found = connection.execute(
        "select id::text, fence, owner::text, lease::text from job where state = 'running' limit %s", [FEW]
    ).fetchall()
    claims = [
        Claim(
            job_id, LANE, "{}", 1, 0, fence, 0.0, 0.0, None, None, None, new_lease()._replace(owner=owner, token=lease)
        )
        for job_id, fence, owner, lease in found
    ]
    return json.dumps([settlement_row(ended(item, ending)) for item in claims])


def parameters(connection: psycopg.Connection[Any], name: str) -> dict[str, Any]:
    """What the store would pass."""
    ids = [job_id for (job_id,) in connection.execute("select id::text from job limit %s", [FEW])]
    given: dict[str, Any] = {"shard": SHARD, "limit": FEW, "id": ids[0], "nobody": NOBODY, "expired_only": False}
    given["owner"], given["lease"] = new_lease()
    given["rows"] = json.dumps([{"id": job_id} for job_id in ids])
    if name in ("claim", "promote_lanes"):
        given["rows"] = json.dumps([Quota(lane, 20)._asdict() for lane in range(LANES)])
    if name == "active_lanes":
        given["lanes"] = json.dumps([3, 7, 8, LANES - 1])
    if name == "settle_succeeded":
        given["ids"] = f"{{{','.join(ids)}}}"
        given["fences"] = f"{{{','.join('1' for _ in ids)}}}"
        given["results"] = "{}"
    if name == "request_cancel":
        given["rows"] = settlements(connection, Ending.RELEASED)
    if name == "cancel_requests":
        given["owner"] = "00000000-0000-0000-0000-000000000004"
    if name == "remember_effect":
        given |= {"effect": "charge", "result": "1", "fence": 1}
    if name == "report_progress":
        found = connection.execute("select id, fence, owner, lease from job where state = 'running' limit %s", [FEW])
        names = ("id", "fence", "owner", "lease", "done", "message")
        told = [dict(zip(names, (*map(str, row), 0.75, "more of it"), strict=True)) for row in found]
        given["rows"] = json.dumps(told)
    if name == "see_schedule":
        given["schedule"] = "schedule-1"
    if name == "trim_fires":
        given["rows"] = json.dumps([{"schedule": f"schedule-{number}", "kept": 60} for number in range(1, 21)])
    if name == "settle":
        succeeded = json.loads(settlements(connection, Ending.SUCCEEDED))
        released = json.loads(settlements(connection, Ending.RELEASED))
        given["rows"] = json.dumps([*succeeded[::2], *released[1::2]])
    return given


def scans_of_job(plan: dict[str, Any]) -> Iterator[str]:
    """The nodes of a plan that read all of the table."""
    if plan["Node Type"] == "Seq Scan" and plan.get("Relation Name") in ("job", "progress"):
        yield f"Seq Scan on {plan['Relation Name']} ({plan.get('Filter', 'no filter')})"
    for inner in plan.get("Plans", []):
        yield from scans_of_job(inner)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_hot_statement_never_reads_the_whole_table(connection: psycopg.Connection[Any], name: str) -> None:
    statement = f"explain (format json) {query(name)}"
    found = connection.execute(statement.encode(), parameters(connection, name)).fetchone()
    assert found is not None
    assert list(scans_of_job(found[0][0]["Plan"])) == []


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_hot_statement_touches_few_blocks(connection: psycopg.Connection[Any], name: str) -> None:
    """An index read from end to end is no better than a table."""
    statement = f"explain (analyze, buffers, format json) {query(name)}"
    found = connection.execute(statement.encode(), parameters(connection, name)).fetchone()
    assert found is not None
    plan = found[0][0]["Plan"]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 70 * FEW


def test_a_listing_pairs_no_job_with_lanes_that_are_not_its_own(connection: psycopg.Connection[Any]) -> None:
    given: dict[str, Any] = {**rows.filter_row(JobFilter(type="mail", tenant="tenant-3")), **LISTING}
    statement = f"explain (analyze, format json) {query('list_jobs')}"
    found = connection.execute(statement.encode(), given).fetchone()
    assert found is not None
    assert sum(pairs_in_vain(found[0][0]["Plan"])) < FEW * LANES


def pairs_in_vain(plan: dict[str, Any]) -> Iterator[float]:
    """How many pairs of rows the joins of a plan tried and threw away."""
    yield plan.get("Rows Removed by Join Filter", 0) * plan["Actual Loops"]
    for inner in plan.get("Plans", []):
        yield from pairs_in_vain(inner)


def test_a_scan_of_the_whole_table_would_be_seen(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("explain (format json) update job set crashes = 1 where payload = 'x'").fetchone()
    assert found is not None
    assert len(list(scans_of_job(found[0][0]["Plan"]))) == 1
