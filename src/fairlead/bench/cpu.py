"""The processor time that work takes: of this process, and of the PostgreSQL sessions it works through.

Unlike the clock on the wall it hardly depends on what else the machine does. The sessions' time is read from Linux's
`/proc`; where that cannot be done, because the server runs elsewhere, only this process is counted.
"""

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlead.bench.database import Database, PostgresDatabase

NANOSECONDS = 1e9


class Meter:
    """Adds up processor seconds; `database` is the bench's own connection, which is not counted."""

    def __init__(self, database: Database) -> None:
        self._database = database if isinstance(database, PostgresDatabase) else None
        self._files: dict[int, int] = {}
        self.sees_server = True
        self.look()

    def look(self) -> None:
        """Find the sessions that there are now."""
        if self._database is not None:
            found = {row[0] for row in self._database.rows("backends")}
            for number in found - self._files.keys():
                self._open(number)
            self.sees_server = bool(found) and found <= self._files.keys()

    def read(self) -> float:
        """Processor seconds up to now."""
        return time.process_time() + sum(map(_seconds, self._files.values()))

    def close(self) -> None:
        """Look no more."""
        while self._files:
            os.close(self._files.popitem()[1])

    def _open(self, number: int) -> None:
        """Read this process too, if it is one of PostgreSQL's on this machine."""
        process = Path(f"/proc/{number}")
        with suppress(OSError):
            if (process / "comm").read_text().startswith("postgres"):
                self._files[number] = os.open(process / "schedstat", os.O_RDONLY)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage as rarely as worker processes do."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _seconds(file: int) -> float:
    """What a process has used; one that has ended uses no more."""
    try:
        return int(os.pread(file, 64, 0).split()[0]) / NANOSECONDS
    except (OSError, IndexError):
        return 0.0
