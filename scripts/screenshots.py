"""Makes the pictures of docs/images/: every page of the dashboard, on the tour with some history.

It starts the tour on a database of its own, lets it work for a while, makes some trouble for the pages to show, and
takes the pictures with Chromium.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import httpx2
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PATIENCE = 120.0
PROGRAMS = ("chromium", "chromium-headless-shell")
WITHOUT = "(element, words) => { element.textContent = element.textContent.replaceAll(words, '') }"
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
SCHEDULES = [
    ("town-report", "0 6 1 * *", "monthly_report", '{"month": 1}', "--tz", "Europe/Berlin", "--tenant", "museum"),
    ("newsletter", "every 10s", "send_email", '{"recipient": "all@bookshop.example", "subject": "News"}'),
]
SETTINGS: dict[str, dict[str, object]] = {
    "tenant/museum": {"tier": "pro", "weight": 150.0},
    "limit/type:thumbnail": {"concurrent": 4},
    "limit/tenant:bakery": {"rate": 20.0, "burst": 40.0},
    "depth/tenant:museum": {"waiting": 5000},
    "submission/tier:free": {"rate": 10.0},
    "overload/policy": {"waiting": 100_000, "action": "defer", "delay": 60.0},
}
PAGES = {
    "overview": "/",
    "jobs": "/jobs",
    "dead-letters": "/dead-letters",
    "tenants": "/tenants",
    "tenant": "/tenants/museum",
    "schedules": "/schedules",
    "callbacks": "/callbacks",
    "callback": "/callbacks/orders?tenant=museum",
    "workers": "/workers",
    "breakers": "/guards",
    "types": "/types",
    "audit": "/audit",
    "settings": "/settings",
}


def main() -> int:
    """Take all pictures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=60.0, help="how long the tour works before the pictures")
    arguments.add_argument("--folder", type=Path, default=IMAGES)
    arguments.add_argument("--only", nargs="+", metavar="NAME", help="take these pictures only, by their names")
    wanted = arguments.parse_args()
    program = os.environ.get("FAIRLEAD_TEST_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        print("Chromium was not found; install it and run this again.", file=sys.stderr)
        return 1
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with hooks() as hook, tour() as (address, key):
        make_trouble(address, key, hook)
        time.sleep(wanted.seconds)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            for scheme in SCHEMES:
                page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 800})
                page.set_default_timeout(PATIENCE * 1000)
                page.goto(f"{address}/dashboard/#key={key}")
                page.wait_for_selector("nav")
                take(page, address, wanted.folder, scheme, wanted.only)
                if scheme == "light" and is_wanted("progress", wanted.only):
                    take_progress(page, address, key, wanted.folder)
                page.close()
            details = browser.new_page(viewport={"width": 1280, "height": 900})
            take_details(details, address, key, wanted.folder, wanted.only)
            browser.close()
    return 0


def is_wanted(name: str, only: list[str] | None) -> bool:
    """Whether a picture is to be taken."""
    return only is None or name in only


def take(page: Page, address: str, folder: Path, scheme: str, only: list[str] | None) -> None:
    """Every page in light; of the dark ones the first is enough."""
    pages = PAGES if scheme == "light" else {"overview-dark": "/"}
    for name, path in [(name, path) for name, path in pages.items() if is_wanted(name, only)]:
        page.goto(f"{address}/dashboard{path}")
        settle(page)
        page.screenshot(path=folder / f"{name}.png")
    if scheme == "light" and is_wanted("job", only):
        page.goto(f"{address}/dashboard/jobs?type=charge_card&state=succeeded")
        page.wait_for_selector("tbody a")
        often = page.locator("td.number", has_text=re.compile("^[2-9]$"))
        page.locator("tbody tr").filter(has=often).first.locator("a").click()
        page.wait_for_selector(".facts")
        settle(page)
        page.screenshot(path=folder / "job.png")


def take_progress(page: Page, address: str, key: str, folder: Path) -> None:
    """A job while it runs."""
    body = {"type": "monthly_report", "payload": {"month": 12}, "tenant": "museum", "priority": "critical"}
    answer = httpx2.post(f"{address}/v1/jobs", json=body, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE)
    page.goto(f"{address}/dashboard/jobs/{answer.raise_for_status().json()['id']}")
    page.locator(".how-far").get_by_text(re.compile("writing page ([3-9]|1.) ")).wait_for()
    settle(page)
    page.screenshot(path=folder / "progress.png")


def take_details(page: Page, address: str, key: str, folder: Path, only: list[str] | None) -> None:
    """A group of dead letters, and a schedule that is being added."""
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{address}/dashboard/dead-letters#key={key}")
    page.wait_for_selector("nav")
    if is_wanted("dead-group", only):
        take_group(page, folder)
    if is_wanted("new-schedule", only):
        take_schedule(page, address, folder)


def take_group(page: Page, folder: Path) -> None:
    """What died of the same, without the place of this checkout in the traceback."""
    page.locator(".card a").first.click()
    page.get_by_label("Payload of the sample").wait_for()
    settle(page)
    page.get_by_label("Traceback of the sample").evaluate(WITHOUT, f"{ROOT}/")
    page.screenshot(path=folder / "dead-group.png")


def take_schedule(page: Page, address: str, folder: Path) -> None:
    """A schedule that is being added."""
    page.goto(f"{address}/dashboard/schedules")
    page.get_by_role("button", name="Add a schedule").click()
    page.get_by_label("Name").fill("monday-report")
    page.get_by_label("When", exact=True).fill("30 9 * * 1")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.locator(".preview li").last.wait_for()
    settle(page)
    page.screenshot(path=folder / "new-schedule.png")


def settle(page: Page) -> None:
    """Wait until the page shows something, and has drawn it."""
    page.wait_for_selector("main h1")
    page.locator("main").get_by_text("Loading…").first.wait_for(state="detached")
    if page.locator(".health").count():
        page.wait_for_selector(".chart canvas")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def make_trouble(address: str, key: str, hook: str) -> None:
    """Dead letters, a tenant that is paused, and something that was set of each kind."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE) as http:
        for number in range(12):
            tenant = ("museum", "library", "bakery")[number % 3]
            body = {"type": "legacy_sync", "payload": {"host": f"mainframe.{tenant}.example"}, "tenant": tenant}
            http.post("/v1/jobs", json=body).raise_for_status()
        why = {"reason": "their mail server is being moved"}
        http.put("/v1/settings/pause/tenant:florist", json=why).raise_for_status()
        for path, value in SETTINGS.items():
            http.put(f"/v1/settings/{path}", json={"value": value}).raise_for_status()
        make_callbacks(http, hook)


def make_callbacks(http: httpx2.Client, hook: str) -> None:
    """Endpoints, and jobs whose ends they are told."""
    for name, tenant in (("orders", "museum"), ("everything", None)):
        body: dict[str, Any] = {"name": name, "url": hook, "tenant": tenant}
        http.post("/v1/callbacks", json=body).raise_for_status()
    for number in range(8):
        payload = {"recipient": f"guest{number}@museum.example", "subject": "Your ticket"}
        body = {"type": "send_email", "payload": payload, "tenant": "museum", "callback": "orders"}
        http.post("/v1/jobs", json=body).raise_for_status()


class Hook(BaseHTTPRequestHandler):
    """A receiver of callbacks that is busy every third time."""

    heard = 0

    def do_POST(self) -> None:
        """Take a callback, or ask for patience."""
        self.rfile.read(int(self.headers["content-length"]))
        Hook.heard += 1
        self.send_response(204 if Hook.heard % 3 else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def hooks() -> Iterator[str]:
    """A receiver of callbacks, running: its address."""
    with ThreadingHTTPServer(("127.0.0.1", 8443), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield "http://127.0.0.1:8443/fairlead"
        server.shutdown()


@contextmanager
def tour() -> Iterator[tuple[str, str]]:
    """The tour, running, its callbacks allowed to go to this machine: its address and a key."""
    with tempfile.TemporaryDirectory(prefix="fairlead-pictures-") as folder:
        url, log = f"sqlite:///{folder}/tour.db", Path(folder, "log")
        with log.open("wb") as said:
            command = [
                sys.executable,
                "-m",
                "fairlead",
                "up",
                "examples.tour:app",
                "--start",
                "visitors",
                "--port",
                "0",
            ]
            environment = {
                **os.environ,
                "FAIRLEAD_DATABASE_URL": url,
                "FAIRLEAD_CALLBACK_HTTP": "true",
                "FAIRLEAD_CALLBACK_NETWORKS": "127.0.0.0/8",
            }
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=said, stdout=said)
        try:
            found = until_said(process, log)
            for schedule in SCHEDULES:
                add = [sys.executable, "-m", "fairlead", "schedules", "add", *schedule]
                subprocess.run(add, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def until_said(process: subprocess.Popen[bytes], log: Path) -> tuple[str, str]:
    """Wait for the link."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r'"dashboard": "(http://\S+)/dashboard/#key=(\w+)"', log.read_text(encoding="utf-8"))
        if found:
            return found[1], found[2]
        time.sleep(0.1)
    raise RuntimeError(log.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
