"""Hints between processes that share a SQLite file, without a server and without polling.

Each listener binds a datagram socket in a folder that only this user can enter, named after the database. A wake-up is
one datagram to every socket of the folder, sent without waiting: a full or dead socket loses its hint, and the poll
that is always on finds the work. A database in memory has no other process: its listeners are called directly.
"""

import asyncio
import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b

LONGEST_SOCKET_PATH = 100
LARGEST_HINT = 1024
REPAIR_INTERVAL = 30.0

OnWake = Callable[[str], None]


class LocalWakeups:
    """Hints within one process."""

    def __init__(self) -> None:
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop, OnWake]] = {}

    def wake(self, pools: Iterable[str]) -> None:
        """Tell all listeners."""
        for pool in pools:
            for loop, on_wake in list(self._listeners.values()):
                with suppress(RuntimeError):  # that loop is closed
                    loop.call_soon_threadsafe(on_wake, pool)

    async def listen(self, on_wake: OnWake) -> None:
        """Call back with each pool until cancelled."""
        loop, key = asyncio.get_running_loop(), object()
        self._listeners[key] = (loop, on_wake)
        on_wake("")  # whatever happened while nobody listened
        try:
            await loop.create_future()
        finally:
            del self._listeners[key]


class SocketWakeups:
    """Hints between processes of one user."""

    def __init__(self, database: str) -> None:
        self._folder = folder_for(database) if hasattr(socket, "AF_UNIX") else None

    def wake(self, pools: Iterable[str]) -> None:
        """Send to every listener, without waiting for any; a hint that cannot be sent is lost."""
        hints = [pool.encode() for pool in pools]
        if self._folder is None or not hints or not is_private(self._folder):
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            for path in _sockets(self._folder):
                _send(sender, path, hints)

    async def listen(self, on_wake: OnWake) -> None:
        """Call back with each pool until cancelled; a socket that somebody removed is made again."""
        while True:
            path = self._new_path()
            if path is None:
                await asyncio.sleep(REPAIR_INTERVAL)
                continue
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
                receiver.setblocking(False)
                receiver.bind(path)
                await _receive(receiver, path, on_wake)

    def _new_path(self) -> str | None:
        if self._folder is None:
            return None
        with suppress(OSError):
            os.mkdir(self._folder, 0o700)
        return os.path.join(self._folder, secrets.token_hex(6)) if is_private(self._folder) else None


def folder_for(database: str) -> str | None:
    """Where the listeners of a database meet; None if no temporary folder has a path that is short enough."""
    digest = blake2b(database.encode(errors="surrogateescape"), digest_size=8).hexdigest()
    for root in (tempfile.gettempdir(), "/tmp"):
        folder = os.path.join(root, f"fairlead-{os.getuid()}-{digest}")
        if len(os.fsencode(folder)) + 13 < LONGEST_SOCKET_PATH:
            return folder
    return None


def is_private(folder: str) -> bool:
    """Whether it is a folder of this user that nobody else can enter."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


async def _receive(receiver: socket.socket, path: str, on_wake: OnWake) -> None:
    """Read hints for as long as the socket can be found by others."""
    loop = asyncio.get_running_loop()
    loop.add_reader(receiver.fileno(), _drain, receiver, on_wake)
    on_wake("")  # whatever happened while nobody listened
    try:
        await _until_gone(path)
    finally:
        loop.remove_reader(receiver.fileno())
        with suppress(OSError):
            os.unlink(path)
            os.rmdir(os.path.dirname(path))  # works for the last one only


async def _until_gone(path: str) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(REPAIR_INTERVAL)
        if not await loop.run_in_executor(None, os.path.exists, path):
            return


def _drain(receiver: socket.socket, on_wake: OnWake) -> None:
    pools: dict[str, None] = {}
    with suppress(OSError):
        while True:
            pools[receiver.recv(LARGEST_HINT).decode(errors="replace")] = None
    for pool in pools:
        on_wake(pool)


def _send(sender: socket.socket, path: str, hints: Iterable[bytes]) -> None:
    for hint in hints:
        try:
            sender.sendto(hint, path)
        except ConnectionRefusedError:  # its process died without cleaning up
            with suppress(OSError):
                os.unlink(path)
            return
        except OSError:  # full, or just gone
            return


def _sockets(folder: str) -> list[str]:
    with suppress(OSError):
        return [entry.path for entry in os.scandir(folder)]
    return []
