"""Callback endpoints on the dashboard: made, pinged, watched, rotated, disabled, removed."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Receiver, Site, confirm

Visit = Callable[..., Page]

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{30,}")
EVERY_END = ["job.succeeded", "job.dead", "job.cancelled", "job.expired"]


@pytest.fixture
def endpoint(site: Site, receiver: Receiver) -> Iterator[str]:
    """The name of an endpoint at the receiver."""
    receiver.status = 204
    site.post("/v1/callbacks", {"name": "till", "url": receiver.url, "tenant": "shop"})
    yield "till"
    site.http.delete("/v1/callbacks/till", params={"tenant": "shop"})


def log_of(page: Page) -> Locator:
    """The rows of the log."""
    return page.get_by_role("region", name="What was sent").locator("tbody tr")


def shown_secret(page: Page) -> str:
    """The secret that the page shows now."""
    found = page.get_by_label("Shown once").locator("code")
    expect(found).to_have_text(SECRET)
    return found.inner_text()


def test_an_endpoint_is_added_and_its_secret_is_shown_once(visit: Visit, site: Site, receiver: Receiver) -> None:
    page = visit("/callbacks")
    page.get_by_role("button", name="Add an endpoint").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("cancelled").uncheck()
    dialog.get_by_label("expired").uncheck()
    confirm(page, "Add an endpoint", Name="fresh", URL=receiver.url, Tenant="shop")
    secret = shown_secret(page)
    row = page.get_by_role("region", name="Endpoints").get_by_role("row").filter(has_text="fresh")
    expect(row).to_contain_text("succeeded, dead")
    row.get_by_role("link").click()
    expect(page.locator("main h1")).to_contain_text("fresh")
    assert secret not in page.content()
    page.go_back()
    expect(row).to_be_visible()
    page.reload()
    expect(row).to_be_visible()
    assert secret not in page.content()
    made = site.get("/v1/callbacks/fresh", tenant="shop")
    assert (made["events"], made["pool"]) == (["job.succeeded", "job.dead"], "short")
    row.get_by_role("link").click()
    page.get_by_role("button", name="Remove").click()
    confirm(page, "Remove", "it was a try")
    expect(page.locator("main h1")).to_have_text("Callbacks")
    expect(row).to_have_count(0)
    entry = site.get("/v1/audit", limit=1)["entries"][0]
    assert (entry["action"], entry["details"]["reason"]) == ("remove callback", "it was a try")


def test_a_ping_is_sent_and_sent_again(visit: Visit, receiver: Receiver, endpoint: str) -> None:
    page = visit(f"/callbacks/{endpoint}?tenant=shop")
    expect(page.locator("main")).to_contain_text("Nothing was sent to it yet")
    page.get_by_role("button", name="Send a ping").click()
    confirm(page, "Send a ping")
    expect(log_of(page)).to_have_count(1)
    expect(log_of(page)).to_contain_text("204")
    log_of(page).get_by_role("button", name="Redeliver").click()
    expect(page.get_by_role("dialog")).to_contain_text("same webhook-id")
    confirm(page, "Redeliver")
    expect(log_of(page)).to_have_count(2)
    assert receiver.heard[-1]["webhook-id"] == receiver.heard[-2]["webhook-id"]


def test_the_log_says_what_went_wrong_and_leads_to_the_jobs(
    visit: Visit, site: Site, receiver: Receiver, endpoint: str
) -> None:
    receiver.status = 403
    job = {"type": "echo", "payload": {"text": "sold"}, "tenant": "shop", "callback": endpoint}
    job_id = site.post("/v1/jobs", job)["id"]
    page = visit(f"/callbacks/{endpoint}?tenant=shop")
    expect(log_of(page)).to_contain_text("job.succeeded")
    expect(log_of(page)).to_contain_text("the receiver answered 403")
    log_of(page).get_by_role("link").first.click()
    expect(page.locator("main")).to_contain_text(job_id)
    expect(page.locator(".facts")).to_contain_text(endpoint)


def test_a_secret_is_rotated_and_shown_once(visit: Visit, site: Site, receiver: Receiver, endpoint: str) -> None:
    page = visit(f"/callbacks/{endpoint}?tenant=shop")
    page.get_by_role("button", name="Rotate the secret").click()
    confirm(page, "Rotate the secret", Hours="2")
    secret = shown_secret(page)
    expect(page.locator(".facts")).to_contain_text("2, ended ones included")
    page.get_by_label("Shown once").get_by_role("button", name="Close").click()
    expect(page.get_by_label("Shown once")).to_have_count(0)
    assert secret not in page.content()
    assert secret not in site.http.get("/v1/audit").text
    page.get_by_role("button", name="Send a ping").click()
    confirm(page, "Send a ping")
    expect(log_of(page)).to_have_count(1)
    assert len(receiver.heard[-1]["webhook-signature"].split()) == 2


def test_an_endpoint_that_is_gone_is_disabled_and_can_be_enabled(
    visit: Visit, receiver: Receiver, endpoint: str
) -> None:
    receiver.status = 410
    page = visit(f"/callbacks/{endpoint}?tenant=shop")
    page.get_by_role("button", name="Send a ping").click()
    confirm(page, "Send a ping")
    expect(page.locator("main h1")).to_contain_text("disabled")
    expect(page.locator("main")).to_contain_text("it answered 410 Gone")
    expect(page.get_by_role("button", name="Send a ping")).to_be_disabled()
    expect(log_of(page).get_by_role("button", name="Redeliver")).to_be_disabled()
    page.get_by_role("button", name="Enable").click()
    confirm(page, "Enable")
    expect(page.locator("main h1")).to_contain_text("active")
    page.get_by_role("button", name="Disable").click()
    confirm(page, "Disable", "they asked for it")
    expect(page.locator("main h1")).to_contain_text("disabled")


def test_an_endpoint_is_changed_and_what_cannot_work_is_refused(
    visit: Visit, site: Site, receiver: Receiver, endpoint: str
) -> None:
    page = visit(f"/callbacks/{endpoint}?tenant=shop")
    page.get_by_role("button", name="Change").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("URL")).to_have_value(receiver.url)
    dialog.get_by_label("URL").fill("https://10.0.0.1/metadata")
    dialog.get_by_role("button", name="Change").click()
    expect(dialog.get_by_role("alert")).to_contain_text("10.0.0.1")
    for end in ("succeeded", "cancelled", "expired"):
        dialog.get_by_label(end).uncheck()
    confirm(page, "Change", URL=f"{receiver.url}/new")
    expect(page.locator(".facts")).to_contain_text("/hook/new")
    assert site.get("/v1/callbacks/till", tenant="shop")["events"] == ["job.dead"]


def test_an_endpoint_that_is_not_there(visit: Visit) -> None:
    page = visit("/callbacks/nothing")
    expect(page.get_by_role("alert")).to_contain_text("there is no callback endpoint nothing")
    expect(page.get_by_role("button", name="Remove")).to_have_count(0)
    page.get_by_role("main").get_by_role("link", name="Callbacks", exact=True).click()
    page.get_by_label("Of one tenant").fill("nobody-at-all")
    expect(page.locator("main")).to_contain_text("No endpoints of nobody-at-all")


def test_all_of_it_works_with_the_keyboard(visit: Visit, site: Site, receiver: Receiver) -> None:
    page = visit("/callbacks")
    add = page.get_by_role("button", name="Add an endpoint")
    add.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type("typed")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type(receiver.url)
    page.keyboard.press("Tab")
    expect(dialog.get_by_label("succeeded")).to_be_focused()
    page.keyboard.press("Space")
    expect(dialog.get_by_label("succeeded")).not_to_be_checked()
    dialog.get_by_label("Why").focus()
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    shown_secret(page)
    assert site.get("/v1/callbacks/typed")["events"] == EVERY_END[1:]
    site.http.delete("/v1/callbacks/typed")
    add.focus()
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(add).to_be_focused()


def test_keys_see_what_is_theirs_and_readers_have_no_buttons(visit: Visit, site: Site, endpoint: str) -> None:
    bound = site.post("/v1/keys", {"name": "bound", "scopes": ["operate"], "tenant": "other"})["key"]
    page = visit("/callbacks", key=bound)
    expect(page.locator("main")).to_contain_text("No endpoints")
    expect(page.get_by_label("Of one tenant")).to_have_count(0)
    page.get_by_role("button", name="Add an endpoint").click()
    expect(page.get_by_role("dialog").get_by_label("Tenant")).to_have_count(0)
    page.goto(f"{site.address}/dashboard/callbacks/{endpoint}?tenant=shop")
    expect(page.get_by_role("alert")).to_contain_text("bound to the tenant other")
    reader = site.post("/v1/keys", {"name": "reader", "scopes": ["read"]})["key"]
    page = visit(f"/callbacks/{endpoint}?tenant=shop", key=reader)
    expect(page.locator(".facts")).to_contain_text("/hook")
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
