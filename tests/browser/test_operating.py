"""What an operator does on the dashboard, with a real server and a real worker."""

from collections.abc import Callable

from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import PATIENCE, Site, confirm, running

Visit = Callable[..., Page]


def test_a_key_opens_the_page_and_a_wrong_one_does_not(visit: Visit, site: Site) -> None:
    page = visit()
    expect(page).to_have_url(f"{site.address}/dashboard/")  # the key is no longer in the address
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").fill("flk_nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown, mistyped, expired or revoked")
    page.get_by_label("API key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_be_visible()


# The body of the first answer, which refuses, comes when the test says so.
LATE_BODY = """
const send = window.fetch;
window.fetch = async (...request) => {
  const answer = await send(...request);
  window.fetch = send;
  const read = answer.json.bind(answer);
  answer.json = () => new Promise((resolve) => { window.arrive = () => resolve(read()); });
  return answer;
};
"""


def test_a_refusal_that_is_read_after_the_sign_in_does_not_end_it(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(LATE_BODY)
    page.goto(f"{site.address}/dashboard/#key={site.key}")
    expect(page.get_by_role("navigation")).to_be_visible()
    page.evaluate("window.arrive()")
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.locator("h1")).to_have_text("Jobs")
    context.close()


# A refusal of the first look at the past comes when the test says so.
LATE_REFUSAL = """
const send = window.fetch;
window.fetch = (...request) => {
  if (!String(request[0]).includes("/v1/status/history")) return send(...request);
  window.fetch = send;
  return new Promise((resolve) => { window.arrive = () => resolve(new Response("{}", { status: 401 })); });
};
"""


def test_an_answer_to_the_session_before_does_not_end_this_one(visit: Visit, site: Site) -> None:
    page = visit("/jobs")
    page.evaluate(LATE_REFUSAL)
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page.locator("h1")).to_have_text("Overview")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_be_visible()
    page.evaluate("window.arrive()")
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.locator("h1")).to_have_text("Jobs")


def test_a_job_is_seen_while_it_runs_and_when_it_has_ended(visit: Visit, site: Site) -> None:
    gate = site.folder / "gate"
    job_id = site.submit("deliver", to="ann", gate=str(gate))
    page = visit(f"/jobs/{job_id}")
    expect(page.locator("h1 .badge")).to_have_text("running")
    gate.touch()
    expect(page.locator("h1 .badge")).to_have_text("succeeded")
    expect(page.get_by_label("Result")).to_contain_text("delivered to ann")


def test_progress_is_followed_while_a_job_runs_and_kept_when_it_has_ended(visit: Visit, site: Site) -> None:
    gates = [site.folder / "first step", site.folder / "second step"]
    job_id = site.submit("climb", gates=[str(gate) for gate in gates])
    page = visit(f"/jobs/{job_id}")
    section, bar = page.locator(".how-far"), page.get_by_role("progressbar", name="Progress of the last run")
    expect(section).to_contain_text("33 %, 1 of 3 step 1")
    page.evaluate("window.stayed = true")
    gates[0].touch()
    expect(section).to_contain_text("66 %, 2 of 3 step 2")
    expect(bar).to_have_js_property("position", 2 / 3)
    gates[1].touch()
    expect(page.locator("h1 .badge")).to_have_text("succeeded")
    expect(section).to_contain_text("66 %, 2 of 3 step 2")
    assert page.evaluate("window.stayed"), "it was live, the page was not loaded again"
    page.reload()
    expect(section).to_contain_text("step 2")


def test_waits_are_on_the_overview(visit: Visit, site: Site) -> None:
    site.until(site.submit("echo", text="quick"), "succeeded")
    page = visit()
    waits = page.get_by_role("region", name="Waits until the start")
    expect(waits.locator("[data-wait=count]")).not_to_have_text("0")
    for name in ("p50", "p95", "p99"):
        expect(waits.locator(f"[data-wait={name}]")).to_contain_text("s")
    card = page.locator(".card", has=page.get_by_role("heading", name="short"))
    expect(card).to_contain_text("waits p50")


def test_a_type_shows_its_runs_and_its_history(visit: Visit, site: Site) -> None:
    site.until(site.submit("echo", text="quick"), "succeeded")
    site.set("pause", "type:tidy", "a look at history")
    site.remove("pause", "type:tidy", "a look at history")
    site.measured("echo")
    page = visit("/types")
    cards = page.locator(".card")
    echo = cards.filter(has=page.get_by_role("link", name="echo", exact=True))
    expect(echo.get_by_role("img", name="How long runs took")).to_be_visible()
    expect(echo).to_contain_text("95 % up to")
    expect(echo.get_by_role("list", name="Attempts")).to_be_visible()
    tidy = cards.filter(has=page.get_by_role("link", name="tidy", exact=True))
    expect(tidy).to_contain_text("No runs were measured")
    summary = tidy.get_by_text("History")
    summary.focus()
    page.keyboard.press("Enter")
    expect(tidy.locator(".timeline li")).to_have_count(2)
    expect(tidy.locator(".timeline li").first).to_contain_text("resume")
    expect(tidy.locator(".timeline li").last).to_contain_text("a look at history")


def test_the_overview_is_live(visit: Visit, site: Site) -> None:
    page = visit()
    expect(page.locator(".sentence")).to_be_visible()
    gate = site.folder / "gate of the overview"
    job_id = site.submit("deliver", to="ann", gate=str(gate))
    runs = page.locator(".card", has=page.get_by_role("heading", name="short")).locator("[data-state=running]")
    expect(runs).to_have_text("1")
    gate.touch()
    expect(runs).to_have_text("0")
    site.until(job_id, "succeeded")


def test_a_dead_letter_is_edited_and_replayed(visit: Visit, site: Site) -> None:
    job_id = site.submit("deliver", to="nobody")
    site.until(job_id, "dead")
    page = visit("/dead-letters")
    page.get_by_role("link", name="deliver").click()
    page.locator(f"tbody a[href$='{job_id}']").click()
    expect(page.locator("h1 .badge")).to_have_text("dead")
    expect(page.locator(".failure")).to_contain_text("there is no such address")
    page.get_by_role("button", name="Edit and replay").click()
    page.get_by_label("Payload").locator("visible=true").first.fill('{"to": "bob", "gate": null}')
    page.get_by_role("button", name="Replay with this payload").click()
    expect(page.locator("h1 .badge")).to_have_text("succeeded")
    expect(page.get_by_label("Result")).to_contain_text("delivered to bob")


def test_a_scheduled_job_is_run_now(visit: Visit, site: Site) -> None:
    job_id = site.submit("deliver", to="ann", run_at="2099-01-01T00:00:00Z")
    page = visit(f"/jobs/{job_id}")
    expect(page.locator("h1 .badge")).to_have_text("scheduled")
    page.get_by_role("button", name="Run now").click()
    confirm(page, "Run now")
    expect(page.locator("h1 .badge")).to_have_text("succeeded")


def test_a_worker_is_drained(visit: Visit, site: Site) -> None:
    log = site.folder / "worker.log"
    with running(log, site.url, "worker", "tests.browser.app:app", "--pool", "side") as process:
        page = visit("/workers")
        row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="side", exact=True))
        expect(row).to_have_count(1)
        row.get_by_role("button", name="Drain").click()
        expect(page.get_by_role("dialog")).to_contain_text("claims nothing more")
        confirm(page, "Drain")
        assert process.wait(PATIENCE) == 0, log.read_text(encoding="utf-8")
        expect(row).to_have_count(0)
    page.goto(f"{site.address}/dashboard/audit")
    expect(page.get_by_text("drain").first).to_be_visible()


def test_a_type_is_paused_and_resumed(visit: Visit, site: Site) -> None:
    page = visit("/workers")
    form = page.locator("form", has=page.get_by_label("Name"))
    form.get_by_label("Name").fill("echo")
    form.get_by_role("button", name="Pause", exact=True).click()
    confirm(page, "Pause", "the other side is down")
    card = page.locator(".card").filter(has_text="type echo")
    expect(card).to_contain_text("the other side is down")
    job_id = site.submit("echo", text="later")
    card.get_by_role("button", name="Resume").click()
    confirm(page, "Resume")
    expect(card).to_have_count(0)
    site.until(job_id, "succeeded")


def test_a_schedule_is_paused_resumed_and_run_by_hand(visit: Visit, site: Site) -> None:
    page = visit("/schedules")
    card = page.locator(".card").filter(has_text="tidy")
    expect(card).to_contain_text("Fires next")
    card.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_contain_text("fires no more until it is resumed")
    confirm(page, "Pause")
    expect(card.locator("h2 .badge")).to_have_text("paused")
    card.get_by_role("button", name="Run now").click()
    confirm(page, "Run now")
    card.get_by_role("link", name="job", exact=True).first.click()
    expect(page.locator("h1 .badge")).to_have_text("succeeded")
    page.go_back()
    card.get_by_role("button", name="Resume").click()
    confirm(page, "Resume")
    expect(card.locator("h2 .badge")).to_have_text("active")


def test_all_jobs_that_fit_are_cancelled_after_they_were_counted(visit: Visit, site: Site) -> None:
    for _ in range(3):
        site.submit("deliver", to="ann", tenant="crowd", run_at="2099-01-01T00:00:00Z")
    page = visit("/jobs")
    page.get_by_label("Tenant").fill("crowd")
    page.get_by_role("button", name="Cancel 3 jobs").click()
    expect(page.get_by_role("dialog")).to_contain_text("3 scheduled")
    confirm(page, "Cancel 3 jobs")
    expect(page.locator("tbody .badge.state-cancelled")).to_have_count(3)


def test_a_browser_that_keeps_no_cookies_is_told_so(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    context.route("**/dashboard/session", lambda route: answer_without_cookie(route))
    page = context.new_page()
    page.goto(f"{site.address}/dashboard/#key={site.key}")
    expect(page.get_by_role("alert")).to_contain_text("allow cookies")
    context.close()


def answer_without_cookie(route: Route) -> None:
    """What a browser with its cookies blocked makes of a sign-in."""
    if route.request.method == "POST":
        route.fulfill(status=204)
    else:
        route.continue_()
