"""Every page: hostile text stays text, and people who cannot see or point can use it."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairlead.core.web.callbacks import Delivered
from fairlead.wiring import make_store
from tests.browser.conftest import ROOT, Site, missing

Visit = Callable[..., Page]

AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = [
    "/",
    "/jobs",
    "/dead-letters",
    "/tenants",
    "/schedules",
    "/callbacks",
    "/workers",
    "/guards",
    "/types",
    "/settings",
    "/audit",
]
HOSTILE = " ".join(
    [
        "<img src=x onerror=alert(1)>",
        '"><script>alert(2)</script>',
        "</pre></textarea></title><svg onload=alert(3)>",
        "javascript:alert(4)",
        "{{constructor.constructor('alert(5)')()}} ${alert(6)} `'-alert(7)-'`",
        "%3Cscript%3Ealert(8)%3C/script%3E &lt;b&gt; \u202egnp.exe \u200b\u2066",
        "<a href='javascript:alert(9)' style='position:fixed;inset:0'>x</a><base href=//evil.example/>",
        "<meta http-equiv=refresh content='0;url=//evil.example'><iframe srcdoc='<script>alert(10)</script>'></iframe>",
    ]
)
HOSTILE_URL = "https://hooks.example.org/?\"><img/src=x/onerror=alert(1)><script>alert(2)</script>'-alert(3)-'"
SETTINGS: dict[str, dict[str, Any]] = {
    "tenant/hostile": {"tier": "pro"},
    "pool/hostile": {"wait": 5.0},
    "limit/type:hostile": {"concurrent": 5},
    "depth/tenant:hostile": {"waiting": 5},
    "submission/tenant:hostile": {"rate": 5.0},
    "overload/policy": {"waiting": 1_000_000},
    "budget/hostile": {"ratio": 1.0},
    "pause/type:side": {},
    "quarantine/call": {},
    "breaker/type:side": {"phase": "open"},
}
REFUSED = "status of 422"  # the API refuses a filter that is no name, and the browser notes that
MARK = "onerror=alert(1)"
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@pytest.fixture(scope="module")
def places(site: Site) -> Iterator[list[str]]:
    """All pages with hostile text in every field that takes any."""
    done = site.submit("echo", text=HOSTILE, idempotency_key=HOSTILE[:200])
    dead = site.submit("echo_error", text=HOSTILE)
    site.until(done, "succeeded")
    site.said = done
    site.until(dead, "dead")
    site.post("/v1/keys", {"name": "<img src=x onerror=alert(1)>", "scopes": ["read"], "reason": HOSTILE})
    schedule = {
        "name": "hostile",
        "expression": "@yearly",
        "type": "echo",
        "payload": {"text": HOSTILE},
        "reason": HOSTILE,
    }
    site.post("/v1/schedules", schedule)
    for path, value in SETTINGS.items():
        kind, name = path.split("/")
        site.set(kind, name, HOSTILE, **value)
    site.post("/v1/callbacks", {"name": "hostile", "url": HOSTILE_URL, "reason": HOSTILE})
    tell_of_hostile(site)
    later = site.submit("echo", text=HOSTILE, run_at="2099-01-01T00:00:00Z")
    (group,) = site.http.get("/v1/dead-letters/groups", params={"type": "echo_error"}).json()["groups"]
    yield [
        *PAGES,
        "/tenants/hostile",
        f"/audit?job_id={dead}",
        "/dead-letters?tenant=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
        "/tenants/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
        "/tenants/%zz",
        "/callbacks/hostile",
        "/callbacks/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E?tenant=%22%3E%3Cscript%3Ealert(2)%3C%2Fscript%3E",
        "/callbacks/%zz",
        "/callbacks?tenant=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
        f"/jobs/{done}",
        f"/jobs/{dead}",
        f"/jobs/{later}",
        f"/dead-letters?type=echo_error&fingerprint={group['fingerprint']}",
        "/jobs?type=echo_error&tenant=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    ]
    for path in SETTINGS:
        site.remove(*path.split("/"))
    for path in ("/v1/schedules/hostile", "/v1/callbacks/hostile"):
        site.http.delete(path)


def tell_of_hostile(site: Site) -> None:
    """A try to reach the endpoint whose words are all hostile, as only a broken worker could tell it."""
    told = Delivered(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1, 599, 0.5, HOSTILE)

    async def write() -> None:
        store = make_store(site.url)
        await store.open()
        try:
            (endpoint,) = await store.callbacks.read([("", "hostile")])
            assert await store.callbacks.log_delivery(endpoint, told)
        finally:
            await store.close()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(asyncio.run, write()).result()


def settled(page: Page, address: str) -> None:
    """Open a page and wait until it shows what it is about."""
    page.goto(address)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator("main [role=status]").filter(has_text="Loading")).to_have_count(0)


def test_what_jobs_carry_is_never_more_than_text(visit: Visit, site: Site, places: list[str]) -> None:
    page = visit()
    dialogs: list[str] = []
    errors: list[str] = []
    outside: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on(
        "request", lambda request: outside.append(request.url) if not request.url.startswith(site.address) else None
    )
    page.add_init_script(WATCH)
    shown = 0
    for place in places:
        settled(page, f"{site.address}/dashboard{place}")
        for details in page.locator("details").all():
            details.locator("summary").click()
        if place == f"/jobs/{site.said}":
            expect(page.locator(".how-far .message")).to_contain_text(MARK)
        if place == "/callbacks/hostile":
            expect(page.get_by_role("region", name="What was sent")).to_contain_text(MARK)
        if place == "/types":
            expect(page.locator(".timeline").filter(has_text=MARK)).not_to_have_count(0)
        shown += MARK in page.locator("main").inner_text()
        strangers = page.locator("main :is(img, script, iframe, base, meta, [onload], [onerror], a[href^=javascript])")
        assert strangers.count() == 0, place
        assert page.evaluate("window.violations") == [], place
        assert (dialogs, outside) == ([], []), place
        assert [error for error in errors if REFUSED not in error] == [], place
    assert shown >= 10, "the hostile text was hardly shown, so nothing was tested"


DIALOGS = [
    ("/schedules", "Add a schedule", "When"),
    ("/callbacks", "Add an endpoint", "URL"),
    ("/tenants", "Set up a tenant", "Name"),
    ("/workers", "Set up a pool", "Name"),
    ("/guards", "Limit something", "Its name"),
    ("/settings", "Bound a depth", "Name"),
]


def test_what_is_typed_is_never_more_than_text(visit: Visit, site: Site, places: list[str]) -> None:
    page = visit()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.add_init_script(WATCH)
    for place, button, field in DIALOGS:
        settled(page, f"{site.address}/dashboard{place}")
        page.get_by_role("button", name=button, exact=True).click()
        form = page.get_by_role("dialog")
        expect(form.get_by_label(field, exact=True)).to_be_visible()
        for box in form.locator("input[type=text], input:not([type]), textarea").all():
            box.fill(HOSTILE)
        for box in form.locator("input[type=number]").all():
            box.fill("5")
        form.get_by_label(field, exact=True).fill(HOSTILE[:28])
        form.get_by_role("button", name=button, exact=True).click()
        expect(form.get_by_role("alert")).to_be_visible()
        assert form.locator(":is(img, script, iframe, base, meta)").count() == 0, place
    settled(page, f"{site.address}/dashboard/jobs")
    page.get_by_label("Search").fill(HOSTILE[:28])
    page.get_by_label("Found").get_by_role("link").first.click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.evaluate("window.violations") == []
    assert dialogs == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, site: Site, places: list[str], scheme: str) -> None:
    if not AXE.exists():
        missing("axe-core is not there; make dashboard")
    page = visit(color_scheme=scheme, bypass_csp=True)
    found = []
    for place in places if scheme == "light" else PAGES:
        settled(page, f"{site.address}/dashboard{place}")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += serious(place, report)
    assert found == []


def test_axe_finds_nothing_serious_in_dialogs(visit: Visit, site: Site, places: list[str]) -> None:
    if not AXE.exists():
        missing("axe-core is not there; make dashboard")
    page = visit(bypass_csp=True)
    found = []
    for place, button, _ in DIALOGS:
        settled(page, f"{site.address}/dashboard{place}")
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found += serious(place, page.evaluate("axe.run(document, {resultTypes: ['violations']})"))
    assert found == []


def serious(place: str, report: dict[str, Any]) -> list[tuple[str, str, list[Any]]]:
    """The findings that keep somebody from using the page."""
    return [
        (place, violation["id"], [node["target"] for node in violation["nodes"]][:3])
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("place", [*PAGES, "/tenants/hostile", "/callbacks/hostile"])
def test_pages_fit_a_narrow_screen(visit: Visit, site: Site, places: list[str], place: str) -> None:
    page = visit(place, viewport={"width": 400, "height": 800})
    expect(page.locator("main h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_keyboard_reaches_the_content(visit: Visit) -> None:
    page = visit("/jobs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
