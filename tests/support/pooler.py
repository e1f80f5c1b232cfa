"""PgBouncer in transaction mode, before the server that the tests use."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.support.postgres import START_SECONDS, STOP_SECONDS, _unprivileged_identity, free_port

SESSIONS = 3  # fewer than clients, so that each transaction may have another one


class PoolerMissing(Exception):
    """PgBouncer is not installed on this machine."""


class Pooler:
    """A PgBouncer of our own on a free port of 127.0.0.1; leaving the context ends it and removes its folder."""

    def __init__(self, server: str) -> None:
        self._program = find_pooler()
        self._identity = _unprivileged_identity()
        self._server = urlsplit(server)
        self._port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="fairlead-pooler-"))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

    def url(self, direct: str) -> str:
        """The address of the same database through the pooler."""
        return urlunsplit(urlsplit(direct)._replace(netloc=f"{self._server.username}@127.0.0.1:{self._port}"))

    def _start(self) -> None:
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(self._settings(), encoding="utf-8")
        if self._identity:
            for path in (self._folder, settings):
                os.chown(path, self._identity["user"], self._identity["group"])
        with (self._folder / "log").open("wb") as log:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            place: dict[str, Any] = {"cwd": self._folder, "start_new_session": True, **self._identity}
            self._process = subprocess.Popen([self._program, str(settings)], **streams, **place)
        self._wait_until_it_answers(self._process)

    def _settings(self) -> str:
        server = self._server
        password = f" password={server.password}" if server.password else ""
        return (
            f"[databases]\n* = host={server.hostname} port={server.port or 5432} user={server.username}{password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self._port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {SESSIONS}\nmax_client_conn = 500\n"
        )

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url(self._server.geturl())):
                return
            time.sleep(0.02)
        raise RuntimeError(f"PgBouncer did not start:\n{(self._folder / 'log').read_text(errors='replace')[-2000:]}")

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(STOP_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)


def find_pooler() -> str:
    """The program, which Debian has where only root looks."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise PoolerMissing("no pgbouncer; apt-get install pgbouncer")
    return found
