"""What `fairlead worker` says without any option, as a process: what starts, what fails, what it waits for."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead import App
from tests.cli.conftest import Run

PROGRAM = """
import asyncio
import logging
from fairlead import App, Retry

app = App()
log = logging.getLogger("shop")

@app.handler("charge", retry=Retry.fixed("50ms", attempts=2, jitter="none"))
async def charge(order: int) -> None:
    raise ValueError(f"order {order} has no card")

@app.handler("greet")
async def greet(name: str) -> None:
    log.info("greeting %s", name)

@app.handler("shout")
def shout(name: str) -> None:
    log.warning("shouting at %s", name)

@app.handler("sleep")
async def sleep() -> None:
    await asyncio.sleep(30)
"""
PATIENCE = 60.0


class Worker:
    """`fairlead worker` on a program in a folder; with a terminal of its own where it is asked for."""

    def __init__(self, folder: Path, url: str, *arguments: str, terminal: bool = False, program: str = PROGRAM) -> None:
        (folder / "shop.py").write_text(program, encoding="utf-8")
        self._said = bytearray()
        self._ours, theirs = pty.openpty() if terminal else os.pipe()
        environment = {**os.environ, "FAIRLEAD_DATABASE_URL": url, "FAIRLEAD_POLL": "100ms", "FAIRLEAD_DRAIN": "2s"}
        command = [sys.executable, "-m", "fairlead", "worker", "shop:app", *arguments]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        os.set_blocking(self._ours, False)

    def said(self) -> str:
        """All that it has said so far."""
        while True:
            try:
                part = os.read(self._ours, 65536)
            except (BlockingIOError, OSError):
                break
            if not part:
                break
            self._said += part
        return self._said.decode()

    def entries(self, event: str) -> list[dict[str, Any]]:
        """The entries of one kind in its JSON log."""
        lines = [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def until(self, event: str, count: int = 1, **having: Any) -> list[dict[str, Any]]:
        """The entries of one kind, once there are so many."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = [item for item in self.entries(event) if having.items() <= item.items()]
            if len(found) >= count:
                return found
            time.sleep(0.05)
        raise AssertionError(self.said())

    def until_said(self, pattern: str) -> str:
        """The match of a pattern in what it said."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := re.search(pattern, self.said()):
                return found[0]
            time.sleep(0.05)
        raise AssertionError(self.said())


@contextmanager
def working(folder: Path, url: str, *arguments: str, **more: Any) -> Iterator[Worker]:
    """A worker that is killed at the end."""
    worker = Worker(folder, url, *arguments, **more)
    try:
        yield worker
    finally:
        worker.process.kill()
        worker.process.wait()


@pytest.fixture
def url(sqlite_url: str, run: Run) -> str:
    """A database with its tables."""
    assert run("migrate", "--database", sqlite_url).exit_code == 0
    return sqlite_url


def submit(run: Run, url: str, type_name: str, **arguments: Any) -> str:
    """Submit a job of a type that the worker has registered."""
    result = run("enqueue", type_name, json.dumps(arguments), "--database", url, "--json")
    assert result.exit_code == 0, result.output
    return str(json.loads(result.stdout)["id"])


def submit_undeclared(url: str) -> None:
    """Submit a job of a type that no worker has declared yet."""

    async def submit() -> None:
        async with App(url) as app:

            async def extra() -> None: ...

            await app.handler("extra")(extra).enqueue()

    asyncio.run(submit())


def test_failures_and_handlers_logs_are_shown_without_an_option(tmp_path: Path, url: str, run: Run) -> None:
    with working(tmp_path, url) as worker:
        (starting,) = worker.until("starting")
        assert (starting["types"], starting["slots"]) == (["charge", "greet", "shout", "sleep"], 50)
        assert starting["pools"] == ["short", "medium", "long"]
        worker.until("worker_started")
        job = submit(run, url, "charge", order=7)
        retried, dead = worker.until("run_failed", 2, job=job)
        assert (retried["level"], retried["attempt"], retried["again_in"]) == ("warning", 1, 0.05)
        assert (dead["level"], dead["attempt"], "again_in" in dead) == ("error", 2, False)
        assert (dead["error_type"], dead["error"]) == ("ValueError", "order 7 has no card")
        assert "traceback" not in retried
        assert "has no card" in dead["traceback"]
        assert "Traceback" in dead["traceback"]
        job = submit(run, url, "greet", name="Ada")
        (told,) = worker.until("log", job=job)
        assert (told["message"], told["type"], told["tenant"]) == ("greeting Ada", "greet", "default")
        job = submit(run, url, "shout", name="Bob")
        (told,) = worker.until("log", job=job)
        assert (told["message"], told["level"], told["logger"]) == ("shouting at Bob", "warning", "shop")


def test_a_person_reads_sentences(tmp_path: Path, url: str, run: Run) -> None:
    with working(tmp_path, url, "--tracebacks", "none", terminal=True) as worker:
        worker.until_said(r"types   charge, greet, shout, sleep")
        worker.until_said("worker_started")
        job = submit(run, url, "charge", order=7)
        worker.until_said(rf"charge {job} \(default\) attempt 1 failed: ValueError: order 7 has no card; again in 50ms")
        worker.until_said(rf"attempt 2 failed: .*; it is dead: fairlead jobs show {job}")
        assert "Traceback" not in worker.said()


def test_a_drain_says_what_it_waits_for(tmp_path: Path, url: str, run: Run) -> None:
    with working(tmp_path, url) as worker:
        worker.until("worker_started")
        job = submit(run, url, "sleep")
        deadline = time.monotonic() + PATIENCE
        while not _runs(url, job):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        worker.process.send_signal(signal.SIGTERM)
        (draining,) = worker.until("draining")[:1]
        assert (draining["jobs"], draining["at_most"]) == ([job], 2.0)
        assert worker.process.wait(PATIENCE) == 0


def test_a_worker_without_types_and_one_that_lacks_a_module_say_so(tmp_path: Path, url: str) -> None:
    (tmp_path / "more.py").write_text(
        "from shop import app\n\n@app.handler('extra')\nasync def extra() -> None: ...\n", encoding="utf-8"
    )
    submit_undeclared(url)
    bare = "from fairlead import App\napp = App()\n"
    with working(tmp_path, url, program=bare) as worker:
        (none,) = worker.until("no_types")
        assert none["level"] == "error"
        (missing,) = worker.until("types_not_declared")
        assert (missing["level"], missing["types"]) == ("warning", ["extra"])
    with working(tmp_path, url, "--include", "more", program=bare) as worker:
        assert worker.until("starting")[0]["types"] == ["extra"]
        worker.until("worker_started")
    included = "from fairlead import App\napp = App(include=['more'])\n"
    with working(tmp_path, url, program=included) as worker:
        assert worker.until("starting")[0]["types"] == ["extra"]


def test_a_worker_ends_when_its_database_file_is_replaced(tmp_path: Path, url: str, run: Run) -> None:
    path = Path(url.removeprefix("sqlite:///"))
    with working(tmp_path, url) as worker:
        worker.until("worker_started")
        path.rename(path.with_suffix(".old"))
        assert run("migrate", "--database", url).exit_code == 0
        worker.until("database_replaced")
        assert worker.process.wait(PATIENCE) == 1, worker.said()


def _runs(url: str, job_id: str) -> bool:
    async def state() -> str:
        async with App(url) as app:
            return (await (await app.client()).read(job_id)).state.value

    return asyncio.run(state()) == "running"
