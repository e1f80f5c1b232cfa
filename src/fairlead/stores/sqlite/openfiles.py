"""Which database files this process has open, so that two copies of the SQLite library never share one.

Locks of a file belong to a process, not to a connection. Two copies of the library in one process (ours, and the one
behind Python's sqlite3) do not see each other's locks: both may write at once, and committed transactions get lost.
Whoever closes the file first also drops the locks of the other. So a file belongs to one library in a process: `within`
asks `is_open` before it writes through sqlite3, and we open no file that another library has open here.

A forked process inherits what the library remembers of locks, but not the locks. It may not touch such a file at all.
"""

import os
import threading
from collections import Counter
from contextlib import suppress

import apsw

from fairlead.errors import StoreRefused

DESCRIPTORS = "/proc/self/fd"

_lock = threading.Lock()
_counts: Counter[tuple[int, str]] = Counter()


def enter(path: str) -> None:
    """Note that a Database opens this file; raises StoreRefused if another library has it open in this process."""
    with _lock:
        if _is_inherited(path):
            raise StoreRefused(
                f"the process from which this one was forked had {path} open, and SQLite does not survive that: fork "
                "before the first job is submitted or the store is opened, start the process anew ('spawn'), or use "
                "PostgreSQL"
            )
        if not is_open(path) and not _open_by_apsw(path) and _has_descriptor(path):
            raise StoreRefused(
                f"{path} is already open in this process through another SQLite library (Python's sqlite3, or "
                "SQLAlchemy or Django on it); the two do not see each other's locks and would lose data: close "
                "that connection first, or keep Fairlead's jobs in a file of their own"
            )
        _counts[os.getpid(), path] += 1


def leave(path: str) -> None:
    """Note that a Database has closed this file."""
    with _lock:
        _counts[os.getpid(), path] -= 1


def is_open(path: str) -> bool:
    """Whether a Database of this process has the file open."""
    return _counts[os.getpid(), path] > 0


def _is_inherited(path: str) -> bool:
    """Whether another process had it open when this one was forked from it."""
    own = os.getpid()
    return any(count > 0 and known == path and owner != own for (owner, known), count in _counts.items())


def _open_by_apsw(path: str) -> bool:
    """Whether a connection of our own library may have the file open; a busy one does not tell, and may."""
    for connection in apsw.connections():
        try:
            if connection.filename == path:
                return True
        except apsw.ThreadingViolationError:
            return True
    return False


def _has_descriptor(path: str) -> bool:
    """Whether any file descriptor of this process leads to the file; it is not opened to find out."""
    try:
        wanted = os.stat(path)
        numbers = os.listdir(DESCRIPTORS)
    except OSError:
        return False
    for number in numbers:
        with suppress(OSError):
            if os.path.samestat(os.stat(f"{DESCRIPTORS}/{number}"), wanted):
                return True
    return False


def _after_fork() -> None:
    """Another thread may have had the lock, which has stayed with the parent."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
