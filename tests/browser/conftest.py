"""A real server with a worker, and a browser that is signed in to its dashboard.

All of it is made once for these tests. They run one after the other in one process, and wait for what they look for:
never for a time.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from fairlead.dashboard.files import is_built
from tests.conftest import migrate_now

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 90.0
OPTIONS = ("tenant", "idempotency_key", "run_at")
# The first is Chromium without the window that is not shown: it takes a third of the other's time.
PROGRAMS = ("chromium-headless-shell", "chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
]

expect.set_options(timeout=PATIENCE * 1000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One browser for all: they belong together, and have more time than others."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))
            item.add_marker(pytest.mark.timeout(400))


def missing(what: str) -> None:
    """Without a browser or a page there is nothing to test."""
    pytest.skip(f"DASHBOARD NOT TESTED: {what}")


class Site:
    """The server: where it is, and what a program can do there."""

    def __init__(self, address: str, key: str, url: str, folder: Path) -> None:
        self.address = address
        self.key = key
        self.url = url
        self.folder = folder
        self.said = ""  # the job whose progress says what is hostile
        limits = httpx2.Limits(max_keepalive_connections=0)  # a connection that stays would be a leak of the test
        headers = {"Authorization": f"Bearer {key}"}
        self.http = httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE, limits=limits)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """What the API answers."""
        answer = self.http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def set(self, kind: str, name: str, reason: str, **value: Any) -> None:
        """Set what is set at run time."""
        answer = self.http.put(f"/v1/settings/{kind}/{name}", json={"value": value, "reason": reason})
        assert answer.is_success, answer.text

    def remove(self, kind: str, name: str, reason: str = "the test is over") -> None:
        """Remove what was set."""
        answer = self.http.request("DELETE", f"/v1/settings/{kind}/{name}", json={"reason": reason})
        assert answer.is_success, answer.text

    def get(self, path: str, **query: Any) -> Any:
        """What the API answers."""
        answer = self.http.get(path, params=query)
        assert answer.is_success, answer.text
        return answer.json()

    def submit(self, type_name: str, **more: Any) -> str:
        """The id of a new job; what is no option is its payload."""
        options: dict[str, Any] = {name: more.pop(name) for name in OPTIONS if name in more}
        return str(self.post("/v1/jobs", {"type": type_name, "payload": more, **options})["id"])

    def until(self, job_id: str, state: str) -> None:
        """Wait until a job has ended."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.http.get(f"/v1/jobs/{job_id}/wait", params={"timeout": 20}).json()["state"]) != state:
            assert time.monotonic() < deadline, f"the job is {found}, not {state}"

    def measured(self, type_name: str) -> None:
        """Wait until the worker has told how long runs of a type took, which it does every few seconds."""
        deadline = time.monotonic() + PATIENCE
        while self.http.get(f"/v1/types/{type_name}").json()["runs"] is None:
            assert time.monotonic() < deadline, f"no run of {type_name} was measured"
            time.sleep(0.1)


def confirm(page: Page, label: str, reason: str = "a test", **fields: str) -> None:
    """Fill in what a button asks for, by the labels' first words, and say yes."""
    dialog = page.get_by_role("dialog")
    for words, value in fields.items():
        field = dialog.get_by_label(re.compile(f"^{words.replace('_', ' ')}"))
        if field.evaluate("element => element.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    dialog.get_by_label("Why, for the audit").fill(reason)
    dialog.get_by_role("button", name=label, exact=True).click()
    expect(dialog).to_have_count(0)


class Receiver(ThreadingHTTPServer):
    """Takes callbacks, answers them as told, and keeps their headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hook)
        self.status = 204
        self.heard: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class Hook(BaseHTTPRequestHandler):
    """One callback."""

    def do_POST(self) -> None:
        """Take it."""
        receiver = self.server
        assert isinstance(receiver, Receiver)
        self.rfile.read(int(self.headers["content-length"]))
        receiver.heard.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(receiver.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def running(log: Path, url: str, *arguments: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Fairlead beside the body."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *arguments],
            cwd=ROOT,
            env={**os.environ, **settings, "FAIRLEAD_DATABASE_URL": url},
            stdout=said,
            stderr=said,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until_said(process: subprocess.Popen[bytes], log: Path, pattern: str) -> re.Match[str]:
    """Wait until the process has said this."""
    deadline = time.monotonic() + PATIENCE
    while not (found := re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
        time.sleep(0.05)
    return found


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    if not is_built():
        missing("it is not built; make dashboard")
    program = os.environ.get("FAIRLEAD_TEST_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing(f"Chromium is not there; apt-get install {PROGRAMS[0]}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=PATIENCE * 1000)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def receiver(browser: Browser) -> Iterator[Receiver]:
    """A receiver of callbacks on this machine."""
    with Receiver() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="package")
def site(browser: Browser, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`fairlead up` on a SQLite file; its callbacks may go to the receiver."""
    allowed = {
        "FAIRLEAD_CALLBACK_HTTP": "true",
        "FAIRLEAD_CALLBACK_NETWORKS": "127.0.0.0/8",
        "FAIRLEAD_CALLBACK_PORTS": f"443,{receiver.server_port}",
    }
    folder = tmp_path_factory.mktemp("site")
    url = f"sqlite:///{folder / 'jobs.db'}"
    migrate_now(url)
    with running(folder / "up.log", url, "up", "tests.browser.app:app", "--port", "0", **allowed) as process:
        found = until_said(process, folder / "up.log", r'"dashboard": "(http://\S+)/dashboard/#key=(\w+)"')
        made = Site(found[1], found[2], url, folder)
        with made.http:
            yield made


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Opens a page that is signed in; options are those of a browser's context."""
    contexts: list[BrowserContext] = []

    def opened(path: str = "/", key: str | None = None, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(f"{site.address}/dashboard{path}#key={key or site.key}")
        expect(page.get_by_role("navigation")).to_be_visible()
        return page

    yield opened
    for context in contexts:
        context.close()
