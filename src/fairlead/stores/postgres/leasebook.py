"""Lease renewal on PostgreSQL: one blocking connection that nothing else uses, and a deadline for each statement.

A server that hangs, a lock that is not let go, a network in between that acknowledges and delivers nothing: none of
them may keep the one thread that renews all leases. When the time is over the socket is shut down, which ends the
wait whatever the driver waits for; the next renewal begins with a new connection.
"""

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from fairlead.errors import StoreUnavailable
from fairlead.stores.postgres.connection import conninfo, is_direct_blocking, query, translating

SHORTEST = 1.0  # seconds
EXPIRE_PATIENCE = 10.0


class PostgresLeaseBook:
    """Renews leases for a keeper that runs outside the handlers' event loop."""

    def __init__(self, url: str) -> None:
        self._conninfo = conninfo(url)
        self._connection: psycopg.Connection[Any] | None = None
        self._one_at_a_time = threading.Lock()

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        """Extend the leases that have not run out; returns whose were extended. It takes at most a third of a lease."""
        patience = max(SHORTEST, lease / 3)
        return {row[0] for row in self._run("renew", worker_ids, patience, lease=lease)}

    def expire(self, worker_ids: Sequence[str]) -> None:
        """End leases now: their processes are known to be gone."""
        self._run("expire", worker_ids, EXPIRE_PATIENCE)

    def close(self) -> None:
        """Give back the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, name: str, worker_ids: Sequence[str], patience: float, **parameters: Any) -> list[tuple[Any, ...]]:
        with self._one_at_a_time, translating():
            try:
                is_new = self._connection is None
                connection = self._connection or psycopg.connect(self._conninfo, autocommit=True)
                self._connection = connection
                ids = json.dumps([{"id": worker_id} for worker_id in worker_ids])
                with _deadline(connection, patience):
                    if is_new:
                        is_direct_blocking(connection)
                    cursor = connection.execute(query(name), {"rows": ids, **parameters})
                    return cursor.fetchall() if cursor.description else []
            except (psycopg.Error, StoreUnavailable):
                self.close()
                raise


@contextmanager
def _deadline(connection: psycopg.Connection[Any], patience: float) -> Iterator[None]:
    """Shut the connection down if what is done with it takes longer."""
    over = threading.Event()

    def cut() -> None:
        over.set()
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(patience, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.Error:
        if over.is_set():
            raise StoreUnavailable(
                f"PostgreSQL did not renew a lease within {patience:.1f} s; it is overloaded, locked or cut off"
            ) from None
        raise
    finally:
        timer.cancel()
        timer.join()
