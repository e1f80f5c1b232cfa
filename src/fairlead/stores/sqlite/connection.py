"""Connections to SQLite: how they are made, how long they wait for locks, and what their errors mean."""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import TypeVar

import apsw

from fairlead.errors import FairleadError, SchemaMismatch, StoreError, StoreRefused, StoreUnavailable
from fairlead.stores.sql import Statements, for_sqlite
from fairlead.stores.sqlite.address import Address, require_local

FOLDER = Path(__file__).parent
OLDEST_LIBRARY = (3, 51, 3)
DEADLINE = 30.0
BUSY_TIMEOUT = 10.0
LOCK_LOOK = 0.001
LARGEST_WAL = 64 * 1024 * 1024
PAGES_PER_CHECKPOINT = 4000
CACHE = 8 * 1024  # KiB; a claim from many lanes changes more pages than SQLite's 2 MB hold, and would write some twice

OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
BUSY = (apsw.BusyError, apsw.LockedError)

Result = TypeVar("Result")

query = Statements(FOLDER / "sql", str, for_sqlite)


def require_library(version: str) -> None:
    """Raise StoreRefused for a SQLite that can corrupt a WAL database used by several connections."""
    if tuple(int(part) for part in version.split(".")) < OLDEST_LIBRARY:
        needed = ".".join(map(str, OLDEST_LIBRARY))
        raise StoreRefused(
            f"this process has SQLite {version}, which can corrupt a database in WAL mode (the WAL-reset defect "
            f"of releases before {needed}); install a newer apsw from its wheel: pip install --upgrade apsw"
        )


def connect(address: Address, create: bool = False) -> apsw.Connection:
    """A connection for reading and writing, set up to survive power cuts and to wait for locks."""
    require_library(apsw.sqlite_lib_version())
    if not address.in_memory:
        require_local(address.path)
        if create:
            _create_privately(address.path)
    flags = OPEN | apsw.SQLITE_OPEN_CREATE if create or address.in_memory else OPEN
    connection = apsw.Connection(address.path, flags=flags)
    try:
        retrying(lambda: _configure(connection, address))
    except BaseException:
        connection.close()
        raise
    return connection


def _create_privately(path: str) -> None:
    """Make the file so that only this user can read payloads and secrets; one that is there is not touched.

    SQLite gives the same rights to what it puts beside it. What is wrong with the folder is SQLite's to say.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _configure(connection: apsw.Connection, address: Address) -> None:
    wait_for_locks(connection)
    connection.pragma("temp_store", "memory")
    connection.pragma("foreign_keys", False)
    connection.pragma("mmap_size", 0)
    connection.pragma("cache_size", -CACHE)
    connection.pragma("synchronous", address.synchronous)
    if not address.in_memory and not connection.readonly("main"):
        connection.pragma("journal_mode", "wal")
        connection.pragma("journal_size_limit", LARGEST_WAL)
        connection.wal_autocheckpoint(PAGES_PER_CHECKPOINT)


def wait_for_locks(connection: apsw.Connection, patience: float = BUSY_TIMEOUT) -> None:
    """Let a connection wait so long for the locks of others, and look often.

    SQLite's own handler soon looks every 50 or 100 ms only. A process that writes one transaction after another leaves
    the lock free for less than a millisecond in between, and whoever looks so seldom misses that many times in a row.
    """
    began = 0.0

    def wait(tries: int) -> bool:
        nonlocal began
        now = time.monotonic()
        began = began if tries else now
        if now - began >= patience:
            return False
        time.sleep(random.uniform(0.5, 1.5) * LOCK_LOOK)
        return True

    connection.set_busy_handler(wait)


def retrying(action: Callable[[], Result]) -> Result:
    """Repeat an action that finds the database locked, until the deadline; it must not have begun anything."""
    deadline = time.monotonic() + DEADLINE
    while True:
        try:
            return action()
        except BUSY:
            if time.monotonic() >= deadline:
                raise
            time.sleep(random.uniform(0.005, 0.05))


@contextmanager
def translating(path: str) -> Iterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except apsw.Error as error:
        raise explain(error, path) from error


def explain(error: Exception, path: str) -> FairleadError:
    """What a driver's error means and what to do about it."""
    if isinstance(error, FairleadError):
        return copy(error)
    text = str(error) or type(error).__name__
    if isinstance(error, (*BUSY, apsw.ProtocolError)):
        return StoreUnavailable(
            f"{path} stayed locked for {DEADLINE:.0f} s ({text}); another process holds a long write transaction: "
            "end it, then try again"
        )
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(f"there is no space left for {path} ({text}); nothing was stored: free some space")
    if isinstance(error, apsw.IOError | apsw.NoMemError):
        return StoreUnavailable(f"the system failed to read or write {path} ({text}); check the disk and its space")
    if isinstance(error, apsw.SQLError) and ("no such table" in text or "no such column" in text):
        return SchemaMismatch(f"{path} lacks a table or column ({text}); run `fairlead migrate`")
    return _refusal(error, path, text)


def _refusal(error: Exception, path: str, text: str) -> StoreError:
    if isinstance(error, apsw.CantOpenError):
        return StoreRefused(_why_not_opened(path, text))
    if isinstance(error, apsw.ReadOnlyError):
        return StoreRefused(f"{path} is read-only ({text}); give this user the right to write the file and its folder")
    if isinstance(error, apsw.PermissionsError | apsw.AuthError):
        return StoreRefused(f"this user may not use {path} ({text}); give it the right to read and write it")
    if isinstance(error, apsw.NotADBError):
        return StoreRefused(f"{path} is not a SQLite database ({text}); name another file in the database URL")
    if isinstance(error, apsw.CorruptError):
        return StoreRefused(
            f"{path} is damaged ({text}); stop all processes, keep a copy of it with its -wal file, then restore "
            "a backup, or try `sqlite3 FILE .recover`"
        )
    return StoreRefused(f"SQLite refused a statement ({text}); this is a defect in Fairlead: please report it")


def _why_not_opened(path: str, text: str) -> str:
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        return f"{path} cannot be opened: there is no folder {folder}; create it first"
    if os.path.isdir(path):
        return f"{path} cannot be opened: it is a folder; name a file in the database URL"
    return f"{path} cannot be opened ({text}); give this user the right to read and write it and its folder {folder}"
