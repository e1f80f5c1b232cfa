"""No statistics about our tables: they go from empty to full within seconds, and what was true of them is not.

`ANALYZE` and `PRAGMA optimize` may be run by anybody who has tables in the same file. Taken while there were few jobs,
their figures would make SQLite walk through all jobs later instead of using an index; without any, it uses the indexes.
"""

import apsw
from pydantic_core import to_json

from fairlead.stores.sqlite.connection import query

TABLES = [
    "admission", "api_answer", "api_key", "attempt", "audit", "audit_head", "audit_job", "backlog", "callback_delivery",
    "callback_endpoint", "checkpoint", "control", "control_head", "effect", "flush", "idempotency", "job",
    "job_history", "job_run", "job_type", "job_wait", "lane", "leader", "ledger", "limit_bucket", "progress",
    "prune_mark", "run_count", "sample", "schedule", "schedule_fire", "schema_version", "share", "worker",
]  # fmt: skip
OURS = {"tables": to_json(TABLES).decode()}


def forget_statistics(connection: apsw.Connection) -> None:
    """Remove them, if there are any; every connection to the file plans its statements anew then."""
    kept_in = [name for (name,) in connection.execute(query("statistics_tables"))]
    if "sqlite_stat1" not in kept_in or not connection.execute(query("statistics"), OURS).fetchone():
        return
    try:
        connection.execute("BEGIN IMMEDIATE")
        for name in kept_in:
            connection.execute(query(f"forget_{name}"), OURS)
        connection.pragma("schema_version", connection.pragma("schema_version") + 1)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
