"""A worker process while it starts: it waits for its store, and ends when it is told to or when it is alone."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from fairlead.wiring import migrate

APP = """
import fairlead
app = fairlead.App({url!r}, lease="2s", heartbeat="500ms")

@app.handler("work")
async def work() -> None: ...
"""


class Process:
    """A worker process whose supervisor is this test."""

    def __init__(self, folder: Path, url: str) -> None:
        (folder / "started_app.py").write_text(APP.format(url=url))
        self.folder = folder
        self.link, self._theirs = socket.socketpair()
        self.link.setblocking(False)

    async def __aenter__(self) -> "Process":
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fairlead.cli.child", "started_app:app", "2", "short",
            env={**os.environ, "FAIRLEAD_SUPERVISOR_SOCKET": str(self._theirs.fileno())},
            pass_fds=[self._theirs.fileno()], cwd=self.folder, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._theirs.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self.link.close()

    async def logs(self, text: bytes) -> None:
        """Wait for a line of its log."""
        assert self.process.stderr is not None
        seen = b""
        async with asyncio.timeout(60):
            while text not in seen:
                line = await self.process.stderr.readline()
                assert line, f"it has ended: {seen.decode()}"
                seen += line

    async def registers(self) -> None:
        """Tell it that the supervisor runs, and wait until it hands over its lease."""
        self.link.send(b"\n")
        async with asyncio.timeout(60):
            assert b'"worker"' in await asyncio.get_running_loop().sock_recv(self.link, 4096)

    async def code(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(30):
            return await self.process.wait()


async def test_a_child_waits_for_a_store_that_is_away_and_ends_in_order_when_told_to(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://nobody@127.0.0.1:{taken.getsockname()[1]}/nothing"
        async with Process(tmp_path, url) as child:
            await child.logs(b"store")
            assert child.process.returncode is None
            child.process.send_signal(signal.SIGTERM)
            assert await child.code() == 0


async def test_a_child_without_a_supervisor_ends(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    await migrate(url)
    async with Process(tmp_path, url) as child:
        await child.registers()
        child.link.close()
        assert await child.code() == 0


@pytest.mark.parametrize("waits", [False, True])
async def test_a_copy_that_a_handler_makes_with_fork_ends_and_the_worker_goes_on(waits: bool) -> None:
    import fairlead
    from fairlead.worker.forks import EXIT_COPY

    app = fairlead.App("sqlite:///:memory:", poll="50ms")

    @app.handler("fork")
    async def fork() -> int:
        pid = os.fork()
        if waits:
            await asyncio.sleep(0)
        return pid

    @app.handler("work")
    async def work() -> str:
        return "done"

    async with app, app.worker(concurrency=1):
        pid = await (await fork.enqueue()).wait(20)
        _, status = await asyncio.to_thread(os.waitpid, pid, 0)
        assert os.waitstatus_to_exitcode(status) == EXIT_COPY
        assert await (await work.enqueue()).wait(20) == "done"
