"""Dead letters on the dashboard: replaying in stages, live, and mending some of them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import Site, confirm

Visit = Callable[..., Page]
HEADLINE = "section[aria-label='Replay in stages'] h2"


class Line:
    """Jobs that die until a line is there, and then wait for a gate."""

    def __init__(self, site: Site, folder: Path, jobs: int) -> None:
        self.line, self.gate = folder / "line", folder / "gate"
        self.ids = [
            site.submit("call", line=str(self.line), gate=str(self.gate), tenant=folder.name) for _ in range(jobs)
        ]
        for job_id in self.ids:
            site.until(job_id, "dead")


@pytest.fixture
def group(site: Site) -> Callable[[], str]:
    """The address of the group of the dead calls."""

    def address() -> str:
        (found,) = site.get("/v1/dead-letters/groups", type="call")["groups"]
        return f"/dead-letters?type=call&fingerprint={found['fingerprint']}"

    return address


@pytest.fixture(autouse=True)
def nobody_else(site: Site) -> None:
    """Each test has the group for itself."""
    site.post("/v1/dead-letters/cancel", {"filter": {"type": "call"}, "reason": "the test before"})


def test_a_replay_in_stages_is_seen_while_it_goes_on(
    visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path
) -> None:
    made = Line(site, tmp_path, 13)
    made.line.touch()
    page = visit(group())
    page.get_by_role("button", name="Replay in stages").click()
    expect(page.get_by_role("dialog")).to_contain_text("Replay 13 jobs in stages")
    confirm(page, "Replay in stages", Seconds_to_wait="60")
    expect(page.locator(HEADLINE)).to_have_text("Replaying in stages: stage 1")
    panel = page.get_by_label("Replay in stages", exact=True)
    expect(panel).to_contain_text("1 job of this stage not ended yet, of 13")
    page.get_by_role("link", name="Tenants", exact=True).click()  # it goes on while one looks elsewhere
    page.go_back()
    expect(page.locator(HEADLINE)).to_have_text("Replaying in stages: stage 1")
    made.gate.touch()
    expect(page.locator(HEADLINE)).to_have_text("Replayed 13 jobs")
    expect(panel.get_by_role("listitem")).to_have_text(
        [
            f"{jobs} brought back, {done} succeeded, 0 failed again"
            for jobs, done in (("1 job", 1), ("10 jobs", 10), ("2 jobs", 2))
        ]
    )
    for job_id in made.ids:
        site.until(job_id, "succeeded")


def test_a_replay_stops_by_itself_where_they_fail_again(
    visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path
) -> None:
    Line(site, tmp_path, 3)
    page = visit(group())
    page.get_by_role("button", name="Replay in stages").click()
    confirm(page, "Replay in stages")
    expect(page.locator(HEADLINE)).to_have_text("Stopped: 1 of 1 jobs of stage 1 failed again")
    assert site.get("/v1/dead-letters/count", type="call") == {"count": 3}


def test_a_replay_is_stopped_by_hand(visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path) -> None:
    made = Line(site, tmp_path, 3)
    made.line.touch()
    page = visit(group())
    page.get_by_role("button", name="Replay in stages").click()
    confirm(page, "Replay in stages", Seconds_to_wait="60")
    expect(page.get_by_label("Replay in stages", exact=True)).to_contain_text("1 job of this stage not ended yet")
    page.get_by_role("button", name="Stop before the next stage").click()
    expect(page.locator(HEADLINE)).to_have_text("Stopped: by hand")
    page.evaluate("fetch('/v1/types').then((answer) => answer.status)")  # after it the server knows who has left
    made.gate.touch()
    expect(page.locator("tbody tr")).to_have_count(2)
    site.until(made.ids[-1], "succeeded")
    assert site.get("/v1/dead-letters/count", type="call") == {"count": 2}


def test_a_page_that_is_left_says_before_and_after_that_its_replay_ends_with_it(
    visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path
) -> None:
    made = Line(site, tmp_path, 3)
    made.line.touch()
    page = visit(group())
    questions: list[str] = []

    def leave(dialog: Dialog) -> None:
        questions.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    page.get_by_role("button", name="Replay in stages").click()
    expect(page.get_by_role("dialog")).to_contain_text("Keep the dashboard open in this tab")
    confirm(page, "Replay in stages", Seconds_to_wait="60")
    panel = page.get_by_label("Replay in stages", exact=True)
    expect(panel).to_contain_text("1 job of this stage not ended yet")
    expect(panel).to_contain_text("If it is closed, loaded anew or loses its connection, the replay stops")
    page.reload()
    assert questions == ["beforeunload"]
    expect(page.locator(HEADLINE)).to_have_text("Stopped: this page was left or loaded anew")
    expect(panel).to_contain_text("1 job brought back, 1 not ended then; they run on")
    made.gate.touch()
    site.until(made.ids[-1], "succeeded")
    assert site.get("/v1/dead-letters/count", type="call") == {"count": 2}
    page.reload()
    expect(page.locator(HEADLINE)).to_be_visible()
    assert questions == ["beforeunload"], "nothing goes on, so nothing is asked"
    page.get_by_role("button", name="Replay in stages").click()
    confirm(page, "Replay in stages")
    expect(page.locator(HEADLINE)).to_have_text("Replayed 2 jobs")


def test_the_sample_is_mended_and_replayed(visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path) -> None:
    made = Line(site, tmp_path, 1)
    page = visit(group())
    expect(page.get_by_label("Traceback of the sample")).to_contain_text("the line is dead")
    page.get_by_role("button", name="Edit its payload").click()
    field = page.get_by_label("New payload")
    field.fill('{"line": 5}')
    page.get_by_role("button", name="Save, and leave it dead").click()
    expect(page.get_by_role("alert")).to_be_visible()
    field.fill(f'{{"line": "{site.folder}", "gate": "{site.folder}"}}')
    page.get_by_role("button", name="Save and replay it").click()
    site.until(made.ids[0], "succeeded")
    expect(page.get_by_text("This group is empty now.")).to_be_visible()


def test_the_chosen_are_replayed_and_the_others_given_up(
    visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path
) -> None:
    made = Line(site, tmp_path, 4)
    made.line.touch()
    made.gate.touch()
    page = visit(group())
    page.locator("tbody input[type=checkbox]").first.check()
    page.get_by_role("button", name="Replay the one chosen").click()
    confirm(page, "Replay the one chosen")
    site.until(made.ids[-1], "succeeded")
    page.get_by_role("button", name="Remove old ones").click()
    expect(page.get_by_role("dialog")).to_contain_text("0 jobs would be removed")
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Cancel all").click()
    expect(page.get_by_role("dialog")).to_contain_text("Cancel 3 jobs")
    confirm(page, "Cancel all")
    expect(page.get_by_text("This group is empty now.")).to_be_visible()
    site.until(made.ids[0], "cancelled")


def test_the_chosen_are_removed_for_good(visit: Visit, site: Site, group: Callable[[], str], tmp_path: Path) -> None:
    made = Line(site, tmp_path, 3)
    page = visit(group())
    page.locator("tbody input[type=checkbox]").first.check()
    page.get_by_role("button", name="Remove the one chosen").click()
    expect(page.get_by_role("dialog")).to_contain_text("This cannot be undone.")
    confirm(page, "Remove the one chosen")
    expect(page.locator("tbody tr")).to_have_count(2)
    assert site.http.get(f"/v1/jobs/{made.ids[-1]}").status_code == 404
    page.locator(f"tbody a[href$='{made.ids[0]}']").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    confirm(page, "Remove")
    expect(page.locator("h1")).to_have_text("Dead letters")
    assert site.get("/v1/dead-letters/count", type="call") == {"count": 1}
