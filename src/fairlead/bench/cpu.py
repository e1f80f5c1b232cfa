"""The processor time that work takes: of this process, and of the PostgreSQL sessions it works through.

Unlike the clock on the wall it hardly depends on what else the machine does. The sessions' time is read from Linux's
`/proc`; where that cannot be done, because the server runs elsewhere, only this process is counted.
"""

import time
from pathlib import Path

from fairlead.bench.database import Database, PostgresDatabase

NANOSECONDS = 1e9


class Meter:
    """Adds up processor seconds; `database` is the bench's own connection, which is not counted."""

    def __init__(self, database: Database) -> None:
        self._database = database if isinstance(database, PostgresDatabase) else None
        self._files: list[Path] = []
        self.sees_server = self._database is None
        self.look()

    def look(self) -> None:
        """Find the sessions that there are now."""
        if self._database is not None:
            files = [Path(f"/proc/{row[0]}/schedstat") for row in self._database.rows("backends")]
            self._files = [file for file in files if _is_postgres(file)]
            self.sees_server = bool(files) and len(self._files) == len(files)

    def read(self) -> float:
        """Processor seconds up to now."""
        return time.process_time() + sum(_seconds(file) for file in self._files)


def _is_postgres(file: Path) -> bool:
    try:
        return file.exists() and file.with_name("comm").read_text().startswith("postgres")
    except OSError:
        return False


def _seconds(file: Path) -> float:
    """What a process has used; one that has ended uses no more."""
    try:
        return int(file.read_text().split()[0]) / NANOSECONDS
    except (OSError, IndexError):
        return 0.0
