"""Lease renewal on SQLite: a connection that nothing else uses, or the only one of a database in memory."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from fairlead.stores.sqlite.address import parse
from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.database import DatabaseFile


class SqliteLeaseBook:
    """Renews leases for a keeper that runs outside the handlers' event loop."""

    def __init__(self, target: str | DatabaseFile, clock: Callable[[], float] = time.time) -> None:
        self._shared = isinstance(target, DatabaseFile)
        self._database = target if isinstance(target, DatabaseFile) else DatabaseFile(parse(target), clock, reads=False)
        self._is_open = self._shared

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        """Extend the leases that have not run out; returns whose were extended."""
        return {row[0] for row in self._run("renew", worker_ids, lease=lease)}

    def expire(self, worker_ids: Sequence[str]) -> None:
        """End leases now: their processes are known to be gone."""
        self._run("expire", worker_ids)

    def close(self) -> None:
        """Give back the connection, unless it is shared."""
        if self._is_open and not self._shared:
            self._database.close()
            self._is_open = False

    def _run(self, name: str, worker_ids: Sequence[str], **parameters: Any) -> list[Any]:
        rows = json.dumps([{"id": worker_id} for worker_id in worker_ids])

        def work(connection: apsw.Connection, now: float) -> list[Any]:
            return list(connection.execute(query(name), {"now": now, "rows": rows, **parameters}))

        if not self._is_open:
            self._database.open()
            self._is_open = True
        return self._database.call(work)
