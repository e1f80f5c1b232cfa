"""Hints between stores that share a file."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead.stores.sqlite import wakeups
from fairlead.stores.sqlite.wakeups import SocketWakeups, folder_for
from fairlead.wiring import make_store


@pytest.fixture(autouse=True)
def temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, since a socket's address has to be short."""
    short = Path(f"/tmp/fl{os.getpid()}")
    monkeypatch.setattr("tempfile.tempdir", str(short))
    short.mkdir(mode=0o700)
    yield short
    for folder in short.iterdir():
        folder.rmdir()  # nothing is left in it
    short.rmdir()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("url", ["sqlite:///:memory:", "sqlite:///{folder}/jobs.db"])
async def test_every_listener_hears_of_the_pool(url: str, tmp_path: Path) -> None:
    url = url.format(folder=tmp_path)
    sender = make_store(url)
    receiver = sender if ":memory:" in url else make_store(url)
    heard: list[list[str]] = [[], []]
    tasks = [asyncio.create_task(receiver.jobs.listen(hints.append)) for hints in heard]
    await until(lambda: heard == [[""], [""]])
    await sender.jobs.wake(["short", "short", "long"])
    await until(lambda: all(sorted(hints) == ["", "long", "short"] for hints in heard))
    await cancel(*tasks)
    await sender.jobs.wake(["short"])


async def test_sockets_of_dead_listeners_are_removed() -> None:
    hints = SocketWakeups("/some/jobs.db")
    folder = folder_for("/some/jobs.db")
    assert folder
    os.mkdir(folder, 0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(f"{folder}/dead")
    hints.wake(["short"])
    assert os.listdir(folder) == []


def test_who_cannot_open_a_socket_loses_only_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs are stored by then; whoever submitted them must not think otherwise."""

    def fail(*arguments: object) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    hints = SocketWakeups("/some/other.db")
    folder = folder_for("/some/other.db")
    assert folder
    os.mkdir(folder, 0o700)
    monkeypatch.setattr(socket, "socket", fail)
    hints.wake(["short"])


async def test_a_full_listener_does_not_hold_up_the_sender() -> None:
    hints = SocketWakeups("/some/jobs.db")
    folder = folder_for("/some/jobs.db")
    assert folder
    os.mkdir(folder, 0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(f"{folder}/deaf")
        for _ in range(1000):
            hints.wake(["short"])
        os.unlink(f"{folder}/deaf")


async def test_a_folder_that_others_can_enter_is_not_used() -> None:
    folder = folder_for("/some/jobs.db")
    assert folder
    os.mkdir(folder, 0o755)
    heard: list[str] = []
    task = asyncio.create_task(SocketWakeups("/some/jobs.db").listen(heard.append))
    await asyncio.sleep(0.02)
    assert os.listdir(folder) == []
    assert heard == []
    await cancel(task)


async def test_a_removed_socket_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "REPAIR_INTERVAL", 0.01)
    hints, heard = SocketWakeups("/some/jobs.db"), list[str]()
    task = asyncio.create_task(hints.listen(heard.append))
    await until(lambda: heard == [""])
    folder = folder_for("/some/jobs.db")
    assert folder
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    await until(lambda: heard == ["", ""])
    hints.wake(["short"])
    await until(lambda: heard == ["", "", "short"])
    await cancel(task)


def test_paths_of_sockets_are_short_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp/" + "x" * 90)
    folder = folder_for("/some/jobs.db")
    assert folder
    assert folder.startswith("/tmp/fairlead-")
