"""PostgreSQL servers for tests: a private one in a temporary folder, or databases on a given server."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Literal, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

StopMode = Literal["smart", "fast", "immediate"]

SIGNALS: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
START_SECONDS = 30.0
STOP_SECONDS = 20.0
PORT_ATTEMPTS = 5
# A longer path does not fit into a socket's address; such a server listens on TCP only.
LONGEST_SOCKET_FOLDER = 80


class PostgresMissing(Exception):
    """PostgreSQL's server programs are not installed on this machine."""


class DatabaseServer(Protocol):
    """What fixtures need from a server, whoever runs it."""

    def url(self, database: str = "postgres") -> str: ...

    def create_database(self, name: str) -> str: ...


class PrivateServer:
    """A server of our own on a free port of 127.0.0.1; leaving the context ends it and removes its folder.

    PostgreSQL refuses to run as root, so root starts it as an unprivileged user. Tests that pull the plug
    need `fsync=True`; everything else is faster without.
    """

    def __init__(self, *, fsync: bool = True, settings: dict[str, str] | None = None) -> None:
        self._programs = find_programs()
        self._identity = _unprivileged_identity()
        self._folder = Path(tempfile.mkdtemp(prefix="fairlead-postgres-"))
        self._data = self._folder / "data"
        self._log = self._folder / "log"
        self._settings = _settings(fsync) | (settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id of the running server."""
        return self._process.pid if self._process else None

    @property
    def port(self) -> int:
        """The port; a restart keeps it."""
        return self._port

    def url(self, database: str = "postgres") -> str:
        """The address of one database of this server."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def create_database(self, name: str) -> str:
        """Create an empty database and return its address."""
        _administer(self.url(), sql.SQL("create database {}").format(sql.Identifier(name)))
        return self.url(name)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        if self._process is not None:
            raise RuntimeError("the server is already running")
        if not self._data.exists():
            self._initialize()
        if self._port:
            self._launch()
            return
        # Another process may take the port between the look and the start: look again.
        for remaining in reversed(range(PORT_ATTEMPTS)):
            self._port = free_port()
            try:
                return self._launch()
            except RuntimeError as error:
                if remaining == 0 or "Address already in use" not in str(error):
                    raise

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server as pg_ctl would: smart waits for clients, fast cuts them, immediate is a crash."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(SIGNALS[mode])
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def restart(self, mode: StopMode = "immediate") -> None:
        """Stop and start on the same port with the same data."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """End the process that was started and remove the folder."""
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _initialize(self) -> None:
        if self._identity:
            os.chown(self._folder, self._identity["user"], self._identity["group"])
        command = [str(self._programs / "initdb"), f"--pgdata={self._data}", "--username=postgres"]
        command += ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        result = subprocess.run(command, capture_output=True, text=True, cwd=self._folder, **self._identity)
        if result.returncode != 0:
            raise RuntimeError(f"initdb failed: {result.stderr.strip() or result.stdout.strip()}")

    def _launch(self) -> None:
        sockets = str(self._folder) if len(str(self._folder)) <= LONGEST_SOCKET_FOLDER else ""
        settings = self._settings | {"port": str(self._port), "unix_socket_directories": sockets}
        command = [str(self._programs / "postgres"), "-D", str(self._data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with self._log.open("wb") as log:
            # A session of its own: Ctrl-C reaches the tests first, and they stop the server in order.
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            place: dict[str, Any] = {"cwd": self._folder, "start_new_session": True, **self._identity}
            self._process = subprocess.Popen(command, **streams, **place)
        self._wait_until_it_answers(self._process)

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url()):
                return
            time.sleep(0.02)
        self.stop("immediate")
        log = self._log.read_text(errors="replace")
        raise RuntimeError(f"PostgreSQL did not start; the end of its log:\n{log[-2000:]}")


class BorrowedServer:
    """A server that somebody else runs: only databases made here are used, and dropped at the end."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._url = url
        self._created: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        while self._created:
            name = sql.Identifier(self._created.pop())
            _administer(self._url, sql.SQL("drop database if exists {} with (force)").format(name))

    def url(self, database: str = "postgres") -> str:
        """The address of one database of this server."""
        return urlunsplit(self._parts._replace(path=f"/{database}"))

    def create_database(self, name: str) -> str:
        """Create an empty database and return its address."""
        _administer(self._url, sql.SQL("create database {}").format(sql.Identifier(name)))
        self._created.append(name)
        return self.url(name)


def find_programs() -> Path:
    """The folder that holds initdb and postgres: from PATH, Debian's folders (newest first) or pg_config."""
    for folder in _candidate_folders():
        if os.access(folder / "initdb", os.X_OK) and os.access(folder / "postgres", os.X_OK):
            return folder
    raise PostgresMissing("no initdb and postgres; install PostgreSQL or set FAIRLEAD_TEST_POSTGRES_URL")


def _candidate_folders() -> list[Path]:
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_major_version, reverse=True)
    if shutil.which("pg_config"):
        answer = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
        folders += [Path(answer.stdout.strip())] if answer.stdout.strip() else []
    return folders


def _major_version(folder: Path) -> float:
    # Old releases are named 9.6, newer ones 15: text order would put 9.6 first.
    with contextlib.suppress(ValueError):
        return float(folder.parent.name)
    return 0.0


def _unprivileged_identity() -> dict[str, Any]:
    """Arguments for subprocess that give up root's rights; none are needed for anyone else."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            account = pwd.getpwnam(name)
            return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise PostgresMissing("root cannot run PostgreSQL, and there is no user postgres or nobody to run it as")


def _settings(fsync: bool) -> dict[str, str]:
    durable = "on" if fsync else "off"
    return {
        "listen_addresses": "127.0.0.1",
        "max_connections": "200",
        "shared_buffers": "64MB",
        "fsync": durable,
        "full_page_writes": durable,
        "jit": "off",
    }


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _administer(url: str, statement: sql.Composed) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
