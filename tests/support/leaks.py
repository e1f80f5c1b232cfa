"""The search for what a test left behind: processes, threads, sockets and files.

A snapshot names things by identity, not by count, so that one thing closed cannot hide another left open.
What a session fixture makes on purpose is made inside `kept_for_session` and never counts as a leak.
"""

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

GRACE_SECONDS = 10.0
# Python starts these once and keeps them until it ends.
HELPERS_OF_PYTHON = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
DESCRIPTORS = Path("/proc/self/fd")

_kept: set[str] = set()


def snapshot(temporary_folder: Path) -> set[str]:
    """One line for each thing that a test must not leave behind."""
    return {*_child_processes(), *_threads(), *_descriptors(temporary_folder)}


def leaked_since(before: set[str], temporary_folder: Path) -> list[str]:
    """What is there now, was not there before, and does not go away within the time of grace."""
    deadline = time.monotonic() + GRACE_SECONDS
    while leaked := snapshot(temporary_folder) - before - _kept:
        if time.monotonic() >= deadline:
            return sorted(leaked)
        # What only a reference cycle holds is closed here, and its ResourceWarning belongs to this test.
        gc.collect()
        time.sleep(0.02)
    return []


@contextmanager
def kept_for_session(temporary_folder: Path) -> Iterator[None]:
    """What appears inside this block belongs to the whole session."""
    before = snapshot(temporary_folder)
    yield
    _kept.update(snapshot(temporary_folder) - before)


def _child_processes() -> Iterator[str]:
    for child in psutil.Process().children():
        try:
            command = " ".join(child.cmdline()) or child.name()
            created = child.create_time()
        except psutil.ZombieProcess:
            command, created = "ended, but nobody waited for it", 0.0
        except psutil.NoSuchProcess:
            continue
        if not any(helper in command for helper in HELPERS_OF_PYTHON):
            yield f"process {child.pid} (started {created:.2f}): {command[:200]}"


def _threads() -> Iterator[str]:
    for thread in threading.enumerate():
        if not thread.daemon:
            yield f"thread {thread.name} (id {thread.ident})"


def _descriptors(temporary_folder: Path) -> Iterator[str]:
    if not DESCRIPTORS.exists():
        return
    for number in os.listdir(DESCRIPTORS):
        try:
            target = os.readlink(DESCRIPTORS / number)
        except FileNotFoundError:
            continue
        if target.startswith("socket:") or target.startswith(f"{temporary_folder}{os.sep}"):
            yield f"descriptor {number}: {target}"
