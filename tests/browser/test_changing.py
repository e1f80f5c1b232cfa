"""What an operator sets on the dashboard: tenants, pools, limits, bounds, schedules, guards, keys."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Site, confirm

Visit = Callable[..., Page]


def row_of(page: Page, region: str, words: str) -> Locator:
    """The row of a table that has these words."""
    return page.get_by_role("region", name=region, exact=True).get_by_role("row").filter(has_text=words)


def last_entry(site: Site) -> dict[str, Any]:
    """What the audit has of the last action."""
    entry: dict[str, Any] = site.get("/v1/audit", limit=1)["entries"][0]
    return entry


def test_a_tenant_is_set_up_changed_bounded_and_forgotten(visit: Visit, site: Site) -> None:
    page = visit("/tenants")
    page.get_by_role("button", name="Set up a tenant").click()
    confirm(page, "Set up a tenant", Name="vip", Tier="pro", Weight="250", Guaranteed="5")
    row = row_of(page, "Tenants", "vip")
    expect(row).to_contain_text("pro")
    row.get_by_role("link").click()
    expect(page.locator("h1")).to_have_text("vip")
    page.get_by_role("button", name="Change tier and weight").click()
    confirm(page, "Change tier and weight", "asked for", Weight="300")
    expect(page.locator(".facts")).to_contain_text("300")
    assert last_entry(site)["details"]["reason"] == "asked for"
    page.get_by_role("button", name="Bound its depth").click()
    confirm(page, "Bound its depth", Waiting="7")
    expect(page.locator(".facts")).to_contain_text("0 of 7")
    page.get_by_role("button", name="Bound its rate").click()
    confirm(page, "Bound its rate", Jobs_a_second="2.5", Jobs_at_once="4")
    expect(page.locator(".facts")).to_contain_text("2.5 a second, 4 at once")
    page.get_by_role("button", name="Set its retry budget").click()
    confirm(page, "Set its retry budget", Retries="0.5", And_so_many_more="20")
    expect(page.locator(".facts")).to_contain_text("0.5 a first attempt + 20 in 1 min")
    page.get_by_role("button", name="Bound its depth").click()
    confirm(page, "Bound its depth", Waiting="")
    expect(page.locator(".facts")).not_to_contain_text("of 7")
    page.get_by_role("button", name="Limit its runs").click()
    confirm(page, "Limit its runs", How_many_may_run="4")
    limit = row_of(page, "Limits", "tenant vip")
    expect(limit).to_contain_text("0 of 4")
    limit.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(limit).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    confirm(page, "Pause", "they owe us")
    card = page.locator(".card").filter(has_text="they owe us")
    card.get_by_role("button", name="Resume").click()
    confirm(page, "Resume")
    expect(card).to_have_count(0)
    page.get_by_role("button", name="Forget its settings").click()
    expect(page.get_by_role("dialog")).to_contain_text("has the default tier again")
    confirm(page, "Forget its settings")
    expect(page.locator(".facts")).to_contain_text("standard, the default")


def test_slot_seconds_leave_as_a_table_for_bills(visit: Visit, site: Site) -> None:
    site.until(site.submit("echo", text="billed", tenant="payer"), "succeeded")
    page = visit("/tenants")
    expect(row_of(page, "Tenants", "payer")).to_be_visible()  # its share is in the ledger by then
    with page.expect_download() as found:
        page.get_by_role("button", name="Slot-seconds as CSV").click()
    header, *lines = found.value.path().read_text(encoding="utf-8").splitlines()
    assert header == "tenant,pool,entitled,delivered,reserved"
    assert any(line.startswith("payer,short,") for line in lines)


def test_who_was_slower_is_told_and_changes_nothing(visit: Visit, site: Site) -> None:
    page = visit("/tenants/slow")
    page.get_by_role("button", name="Change tier and weight").click()
    site.set("tenant", "slow", "a test", tier="enterprise")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Weight").fill("3")
    dialog.get_by_role("button", name="Change tier and weight").click()
    expect(dialog.get_by_role("alert")).to_contain_text("not what you saw")
    assert site.get("/v1/tenants/slow")["tier"] == "enterprise"


def test_a_tenants_key_sees_its_own_and_nothing_else(visit: Visit, site: Site) -> None:
    site.submit("deliver", to="ann", tenant="seen", run_at="2099-01-01T00:00:00Z")
    site.submit("deliver", to="ann", tenant="hidden", run_at="2099-01-01T00:00:00Z")
    for tenant in ("seen", "hidden"):
        site.set("tenant", tenant, "a test", tier="pro")
    key = site.post("/v1/keys", {"name": "seen", "scopes": ["operate"], "tenant": "seen"})["key"]
    page = visit("/jobs", key=key)
    expect(page.locator("tbody")).to_contain_text("seen")
    expect(page.locator("tbody")).not_to_contain_text("hidden")
    pages = page.get_by_role("navigation").get_by_role("link")
    expect(pages).to_have_text(["Jobs", "Dead letters", "Tenants", "Schedules", "Callbacks", "Types"])
    pages.filter(has_text="Tenants").click()
    expect(row_of(page, "Tenants", "seen")).to_have_count(1)
    expect(page.locator("main")).not_to_contain_text("hidden")
    expect(page.get_by_role("button", name="Set up a tenant")).to_have_count(0)
    page.goto(f"{site.address}/dashboard/tenants/hidden")
    expect(page.get_by_role("alert")).to_contain_text("bound to the tenant seen")


def test_a_tenants_key_adds_schedules_of_its_own(visit: Visit, site: Site) -> None:
    key = site.post("/v1/keys", {"name": "own", "scopes": ["operate"], "tenant": "own"})["key"]
    page = visit("/schedules", key=key)
    expect(page.locator("main")).to_contain_text("No schedules")
    page.get_by_role("button", name="Add a schedule").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Tenant")).to_have_count(0)
    expect(dialog.get_by_label("Name")).to_have_value("own:")
    confirm(page, "Add a schedule", Name="own:nightly", When="@daily", Type_of="tidy")
    card = page.locator(".card")
    expect(card).to_contain_text("own:nightly")
    card.get_by_role("button", name="Pause").click()
    confirm(page, "Pause")
    expect(card).to_contain_text("paused")
    card.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(card).to_have_count(0)


def test_a_key_that_only_reads_has_no_buttons(visit: Visit, site: Site) -> None:
    key = site.post("/v1/keys", {"name": "watcher", "scopes": ["read"]})["key"]
    page = visit("/", key=key)
    expect(page.get_by_role("link", name="Audit")).to_have_count(0)
    for place in ("/jobs?state=scheduled", "/tenants", "/schedules", "/callbacks", "/workers", "/guards", "/settings"):
        page.goto(f"{site.address}/dashboard{place}")
        expect(page.locator("main h1")).to_be_visible()
        expect(page.get_by_text("Loading…")).to_have_count(0)
        actions = page.locator("main button:not(.chip):not(.quiet)").filter(has_not_text="CSV")
        assert actions.count() == 0, place


def test_a_pool_is_made_changed_and_reset(visit: Visit, site: Site) -> None:
    page = visit("/workers")
    page.get_by_role("button", name="Set up a pool").click()
    confirm(page, "Set up a pool", Name="mailing", Slots="3", Seconds_that_its_jobs_should_wait="20")
    row = row_of(page, "Pools", "mailing")
    expect(row).to_contain_text("20 s")
    row.get_by_role("button", name="Change").click()
    confirm(page, "Change", Slots="5")
    expect(row.get_by_role("cell", name="5", exact=True)).to_be_visible()
    expect(row).to_contain_text("20 s")
    row.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("dialog")).to_contain_text("0 ready jobs stay")
    confirm(page, "Reset")
    expect(row).to_have_count(0)
    assert (last_entry(site)["action"], last_entry(site)["target"]) == ("remove pool", "pool mailing")


def test_a_limit_is_set_used_changed_and_removed(visit: Visit, site: Site) -> None:
    page = visit("/guards")
    page.get_by_role("button", name="Limit something").click()
    confirm(
        page, "Limit something", What="type", Its_name="deliver", How_many_may_run="2", How_many_may_start_a_second="50"
    )
    row = row_of(page, "Limits", "type deliver")
    expect(row).to_contain_text("0 of 2")
    gate = site.folder / "gate of the limit"
    jobs = [site.submit("deliver", to="ann", gate=str(gate)) for _ in range(3)]
    expect(row).to_contain_text("2 of 2")
    row.get_by_text("who").click()
    expect(row.get_by_role("listitem")).to_have_count(2)
    assert all(item.get_attribute("href") for item in row.get_by_role("listitem").get_by_role("link").all())
    row.get_by_role("button", name="Change").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 of its jobs run now")
    confirm(page, "Change", How_many_may_run="3")
    expect(row).to_contain_text("3 of 3")
    gate.touch()
    for job_id in jobs:
        site.until(job_id, "succeeded")
    row.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(row).to_have_count(0)


def test_bounds_overload_and_the_default_tier_are_set_and_removed(visit: Visit, site: Site) -> None:
    page = visit("/settings")
    page.get_by_role("button", name="Set an overload policy").click()
    confirm(page, "Set an overload policy", From="100000", New_jobs="defer", Seconds="30")
    expect(page.locator("main")).to_contain_text(
        "From 100,000 ready jobs on, new jobs of a lower priority than default are put off by 30 s."
    )
    overload = page.locator("section", has=page.get_by_role("heading", name="Overload"))
    overload.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(overload).to_contain_text("All priorities are taken")
    page.get_by_role("button", name="Bound a depth").click()
    confirm(page, "Bound a depth", Name="*", Waiting="500000")
    row = row_of(page, "Bounds on submissions", "each tenant")
    expect(row).to_contain_text("500,000 jobs may wait")
    row.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Bound a rate").click()
    confirm(page, "Bound a rate", Whom="tier", Name="free", Jobs_a_second="10")
    row = row_of(page, "Bounds on submissions", "each tenant of tier free")
    expect(row).to_contain_text("10 jobs a second")
    row.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Change the default tier").click()
    confirm(page, "Change the default tier", Tier="free")
    expect(row_of(page, "Tiers", "free")).to_contain_text("nobody has set up")
    site.set("tenant", "*", "the test is over", tier="standard")


def test_a_schedule_is_added_changed_and_removed(visit: Visit, site: Site) -> None:
    page = visit("/schedules")
    page.get_by_role("button", name="Add a schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("When", exact=True).fill("0 25 * * *")
    expect(dialog.locator(".preview")).to_contain_text("is not a schedule")
    dialog.get_by_label("When", exact=True).fill("30 6 * * *")
    dialog.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(dialog.locator(".preview li")).to_have_count(5)
    expect(dialog.locator(".preview li").first).to_contain_text("06:30:00")
    dialog.get_by_label("Type of its jobs").select_option("deliver")
    expect(dialog).to_contain_text("deliver takes")
    confirm(page, "Add a schedule", Name="morning-mail", Payload='{"to": "ann"}', Tenant="shop", What_fell="none")
    card = page.locator(".card").filter(has_text="morning-mail")
    expect(card).to_contain_text("30 6 * * *")
    expect(card).to_contain_text("Asia/Tokyo")
    card.get_by_role("button", name="Change").click()
    confirm(page, "Change", When="45 6 * * *", Priority="high")
    expect(card).to_contain_text("45 6 * * *")
    made = site.get("/v1/schedules/morning-mail")
    assert (made["priority"], made["tenant"], made["payload"], made["catch_up"]) == (
        "high",
        "shop",
        {"to": "ann"},
        "none",
    )
    card.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("dialog")).to_contain_text("its jobs stay")
    confirm(page, "Remove")
    expect(card).to_have_count(0)
    declared = page.locator(".card").filter(has_text="tidy")
    expect(declared.get_by_role("button", name="Remove")).to_have_count(0)  # its code would declare it again


def test_a_type_is_put_in_quarantine_and_released(visit: Visit, site: Site) -> None:
    page = visit("/guards")
    page.get_by_role("combobox", name="Type", exact=True).select_option("echo")
    page.get_by_role("button", name="Put in quarantine").click()
    expect(page.get_by_role("dialog")).to_contain_text("with none, nothing of it starts")
    confirm(page, "Put in quarantine", "it eats memory", Attempts="0")
    card = page.locator(".card").filter(has_text="it eats memory")
    expect(card).to_contain_text("Nothing of it starts.")
    job_id = site.submit("echo", text="later")
    card.get_by_role("button", name="Release").click()
    expect(page.get_by_role("dialog")).to_contain_text("It touches")
    confirm(page, "Release")
    expect(card).to_have_count(0)
    site.until(job_id, "succeeded")


def test_the_overview_leads_to_what_can_be_done(visit: Visit, site: Site) -> None:
    site.set("quarantine", "echo", "it loops")
    page = visit("/")
    expect(page.locator(".health")).to_contain_text("ype echo is in quarantine: it loops")
    page.locator(".health").get_by_role("link", name="Breakers, quarantines and limits").click()
    page.locator(".card").filter(has_text="it loops").get_by_role("button", name="Release").click()
    confirm(page, "Release")
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page.locator(".health")).to_be_visible()
    expect(page.locator(".health")).not_to_contain_text("it loops")


def test_all_that_fit_run_now_or_get_a_priority_after_they_were_counted(visit: Visit, site: Site) -> None:
    jobs = [site.submit("echo", text="x", tenant="hasty", run_at="2099-01-01T00:00:00Z") for _ in range(3)]
    page = visit("/jobs")
    page.get_by_label("Search").fill("hasty")
    page.get_by_label("Found").get_by_role("link", name=re.compile("tenant hasty")).click()
    expect(page).to_have_url(re.compile(r"/jobs\?tenant=hasty$"))
    page.get_by_role("button", name="scheduled", exact=True).click()
    expect(page).to_have_url(re.compile("state=scheduled"))
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Change their priority").click()
    expect(page.get_by_role("dialog")).to_contain_text("Change the priority of 3 jobs")
    confirm(page, "Change their priority", Priority="critical")
    expect(page.locator("tbody tr").filter(has_text="critical")).to_have_count(3)
    page.get_by_role("button", name="Run 3 jobs now").click()
    expect(page.get_by_role("dialog")).to_contain_text("3 scheduled")
    confirm(page, "Run 3 jobs now")
    for job_id in jobs:
        site.until(job_id, "succeeded")


def test_dead_jobs_that_fit_are_replayed_from_the_list(visit: Visit, site: Site) -> None:
    job_id = site.submit("deliver", to="nobody", tenant="unlucky")
    site.until(job_id, "dead")
    page = visit("/jobs?tenant=unlucky&state=dead")
    page.get_by_role("button", name="Cancel 1 job").click()
    confirm(page, "Cancel 1 job")
    site.until(job_id, "cancelled")
    expect(page.get_by_text("No jobs fit.")).to_be_visible()


def test_a_part_of_an_idempotency_key_finds_the_job(visit: Visit, site: Site) -> None:
    job_id = site.submit("echo", text="x", idempotency_key="order-4711-paid")
    page = visit("/jobs")
    page.get_by_label("Search").fill("4711")
    page.get_by_label("Found").get_by_role("link", name="idempotency key with 4711").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator(f"tbody a[href$='{job_id}']")).to_be_visible()


def test_a_pasted_id_opens_the_job(visit: Visit, site: Site) -> None:
    job_id = site.submit("echo", text="found")
    page = visit("/jobs")
    page.get_by_label("Search").fill(f" {job_id} ")
    expect(page).to_have_url(f"{site.address}/dashboard/jobs/{job_id}")
    expect(page.locator("main")).to_contain_text(job_id)


def test_a_key_is_made_and_revoked(visit: Visit, site: Site) -> None:
    page = visit("/settings")
    keys = page.locator("section", has=page.get_by_role("heading", name="Keys"))
    keys.get_by_role("button", name="Make a key").click()
    confirm(page, "Make a key", Name="shop front", Scope="enqueue", Days="30", Requests="25")
    text = page.get_by_label("Shown once").locator("code").inner_text()
    assert site.http.get("/v1/types", headers={"Authorization": f"Bearer {text}"}).status_code == 403
    row = row_of(page, "Keys", "shop front")
    expect(row).to_contain_text("25")
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("dialog")).to_contain_text("cannot be undone")
    confirm(page, "Revoke")
    expect(row).to_contain_text("revoked")
    assert site.http.get("/v1/types", headers={"Authorization": f"Bearer {text}"}).status_code == 401
