"""Lease renewal on PostgreSQL: one blocking connection that nothing else uses."""

import json
from collections.abc import Sequence
from typing import Any

import psycopg

from fairlead.stores.postgres.connection import conninfo, query, translating


class PostgresLeaseBook:
    """Renews leases for a keeper that runs outside the handlers' event loop."""

    def __init__(self, url: str) -> None:
        self._conninfo = conninfo(url)
        self._connection: psycopg.Connection[Any] | None = None

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        """Extend the leases that have not run out; returns whose were extended."""
        return {row[0] for row in self._run("renew", worker_ids, lease=lease)}

    def expire(self, worker_ids: Sequence[str]) -> None:
        """End leases now: their processes are known to be gone."""
        self._run("expire", worker_ids)

    def close(self) -> None:
        """Give back the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, name: str, worker_ids: Sequence[str], **parameters: Any) -> list[tuple[Any, ...]]:
        with translating():
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(self._conninfo, autocommit=True)
                ids = json.dumps([{"id": worker_id} for worker_id in worker_ids])
                cursor = self._connection.execute(query(name), {"rows": ids, **parameters})
                return cursor.fetchall() if cursor.description else []
            except psycopg.Error:
                self.close()
                raise
