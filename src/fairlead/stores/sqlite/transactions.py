"""Group commit: the works that wait together are written by one transaction, and so by one flush of the disk.

Works that arrive while a transaction waits for its turn to write, or in the first milliseconds in which it writes, go
along with it: a claim and a settlement of one worker share a flush then. What comes later is the next transaction,
which begins at once.

Nobody gets an answer before the commit has succeeded. A work that fails undoes the whole transaction; then each work is
run again alone, so that none suffers from another. A work must therefore be repeatable. (A savepoint for each would
spare the repetition, but makes SQLite copy every page that the work changes.)
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import apsw

from fairlead.errors import FairleadError
from fairlead.stores.sqlite.connection import explain, retrying

JOIN_WITHIN = 0.025  # seconds since it began to write
MICROSECONDS = 6  # digits, as datetimes have them: what was read equals what is stored
LOOKS = 4  # times that it looks who has come meanwhile; small works come one after the other without end

Work = Callable[[apsw.Connection, float], Any]


class Result(NamedTuple):
    """What a work returned, or the error that its caller gets."""

    value: Any = None
    error: BaseException | None = None


class Transactions:
    """Runs works on one connection; `begin` is BEGIN IMMEDIATE for writing, BEGIN for reading."""

    def __init__(
        self,
        connection: apsw.Connection,
        begin: str,
        path: str,
        clock: Callable[[], float],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._begin = begin
        self._path = path
        self._clock = clock
        self._check = check

    def run(self, works: list[Work], arrived: Callable[[], Sequence[Work]] = list) -> list[Result]:
        """The results, in order, after the commit; one that fails undoes the others, which are then run alone.

        Works that arrive until the transaction begins, and soon after, are appended to the others.
        """
        try:
            return self._together(works, arrived)
        except Exception as error:
            if len(works) > 1 and not isinstance(error, apsw.BusyError):
                return [self.run([work])[0] for work in works]
            return [Result(error=self._explained(error)) for _ in works]

    def _together(self, works: list[Work], arrived: Callable[[], Sequence[Work]]) -> list[Result]:
        self._check()
        try:  # from here, since a signal may interrupt a caller's own thread anywhere
            retrying(lambda: self._connection.execute(self._begin))
            results = self._perform(works, arrived)
            self._connection.execute("COMMIT")
            return results
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _perform(self, works: list[Work], arrived: Callable[[], Sequence[Work]]) -> list[Result]:
        now, until, looks = round(self._clock(), MICROSECONDS), time.monotonic() + JOIN_WITHIN, LOOKS
        results: list[Result] = []
        works += arrived()
        while len(results) < len(works):
            results += [Result(work(self._connection, now)) for work in works[len(results) :]]
            if looks and time.monotonic() < until:
                works += arrived()
                looks -= 1
        return results

    def _explained(self, error: Exception) -> Exception:
        if not isinstance(error, apsw.Error | FairleadError):
            return error
        explained = explain(error, self._path)
        explained.__cause__ = error
        return explained
