"""A supervisor and its children, which are small programs here that speak its protocol."""

import asyncio
import sys
from collections.abc import Sequence

import pytest

from fairlead.errors import StoreUnavailable
from fairlead.runtime.boot_clock import boot_time
from fairlead.telemetry.events import ProcessEnded, Telemetry
from fairlead.worker import supervisor as supervising
from fairlead.worker.supervisor import Supervisor
from tests.worker.support import until

REGISTER = """
import json, os, socket, sys, time
link = socket.socket(fileno=int(os.environ["FAIRLEAD_SUPERVISOR_SOCKET"]))
link.sendall(json.dumps({"worker": "w", "deadline": float(sys.argv[1]), "lease": 30.0}).encode() + bytes([10]))
"""
SLEEP = REGISTER + "time.sleep(60)"
END = REGISTER + "sys.exit(3)"
TALK = (
    REGISTER
    + """
while True:
    time.sleep(0.05)
    link.send(bytes([10]))
"""
)


class Book:
    """Notes whose lease was ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.is_away = False

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        if self.is_away:
            raise StoreUnavailable("away")
        return set(worker_ids)

    def expire(self, worker_ids: Sequence[str]) -> None:
        self.ended += worker_ids

    def close(self) -> None:
        """Nothing is open."""


class Scene:
    def __init__(self, program: str, deadline: float) -> None:
        self.book = Book()
        self.ends: list[ProcessEnded] = []
        telemetry = Telemetry()
        telemetry.listen(lambda event: self.ends.append(event) if isinstance(event, ProcessEnded) else None)
        command = [sys.executable, "-c", program, str(deadline)]
        self.supervisor = Supervisor(command, 1, self.book, 3600.0, telemetry)
        self.task = asyncio.create_task(self.supervisor.run())

    async def stop(self) -> int:
        self.supervisor.stop()
        return await asyncio.wait_for(self.task, 20)


async def test_the_lease_of_a_child_that_died_is_ended_at_once_and_not_when_it_runs_out() -> None:
    scene = Scene(END, boot_time() + 3600)
    await until(lambda: scene.book.ended == ["w"], "the end of its lease")
    await until(lambda: bool(scene.ends), "its report")
    assert scene.ends[0].code == 3
    await scene.stop()


async def test_the_pause_before_a_new_start_grows() -> None:
    scene = Scene(END, boot_time() + 3600)
    await until(lambda: len(scene.ends) == 3, "three ends")
    assert [end.restart_in for end in scene.ends] == [0.4, 0.8, 1.6]
    await scene.stop()


async def test_a_child_that_goes_on_after_its_lease_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervising, "FENCED_GRACE", 0.2)
    scene = Scene(TALK, boot_time() - 1)
    scene.book.is_away = True
    await until(lambda: bool(scene.ends), "its end")
    assert scene.ends[0].code == -9
    await scene.stop()


async def test_a_child_whose_event_loop_does_not_answer_is_killed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervising, "LONGEST_SILENCE", 0.5)
    scene = Scene(SLEEP, boot_time() + 3600)
    await until(lambda: bool(scene.ends), "its end")
    assert scene.ends[0].code == -9
    assert "its event loop has not answered" in caplog.text
    await until(lambda: scene.book.ended[:1] == ["w"], "the end of its lease")
    await scene.stop()


async def test_a_child_that_answers_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervising, "LONGEST_SILENCE", 1.0)
    scene = Scene(TALK, boot_time() + 3600)
    await asyncio.sleep(2.5)
    assert scene.ends == []
    assert await scene.stop() != 0  # this one does not know what SIGTERM means


async def test_a_child_that_is_stopped_before_it_has_a_worker_has_ended_in_order() -> None:
    scene = Scene("import time; time.sleep(60)", 0.0)
    await until(lambda: any(scene.supervisor._children), "its start")
    assert await scene.stop() == 0
