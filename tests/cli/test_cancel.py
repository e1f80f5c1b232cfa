"""`fairlead jobs cancel`: by ids and by filter, asked first, and written down."""

import asyncio
import json
from typing import Any

from fairlead.core.jobs.model import Quota
from tests.cli.conftest import Run, Shop
from tests.contract.making import new_lease


def claim(shop: Shop, lane: int) -> str:
    """Take one job of the lane, as a worker does; returns its id."""

    async def claim() -> str:
        async with shop.app:
            (taken,) = await (await shop.app.store()).jobs.claim([Quota(lane, 1)], new_lease())
            return taken.id

    return asyncio.run(claim())


def lane_of(shop: Shop, job_id: str) -> int:
    async def lane() -> int:
        async with shop.app:
            (held,) = await (await shop.app.store()).reader.held([job_id])
            return held.lane.id

    return asyncio.run(lane())


def states(run: Run, shop: Shop) -> dict[str, str]:
    page: dict[str, Any] = json.loads(run("jobs", "list", "--json", "--database", shop.url).stdout)
    return {job["id"]: job["state"] for job in page["jobs"]}


def test_a_running_job_is_asked(run: Run, any_shop: Shop) -> None:
    (job_id,) = any_shop.enqueue(any_shop.greet, [{"name": "a"}])
    assert claim(any_shop, lane_of(any_shop, job_id)) == job_id
    result = run("jobs", "cancel", job_id, "--reason", "enough", "--as", "ann", "--database", any_shop.url)
    assert result.exit_code == 0
    assert result.stdout == f"{job_id} running, its worker was asked to end it\n"
    document = json.loads(run("jobs", "show", job_id, "--json", "--database", any_shop.url).stdout)
    step = document["timeline"][-1]
    assert (step["what"], step["state"], step["by"], step["note"]) == ("cancel requested", None, "ann", "enough")
    shown = run("jobs", "show", job_id, "--database", any_shop.url).stdout
    assert "cancel requested" in shown
    assert "by ann; enough" in shown


def test_a_filter_tells_how_many_and_asks(run: Run, any_shop: Shop) -> None:
    ids = any_shop.enqueue(any_shop.greet, [{"name": "a"}, {"name": "b"}], tenant="acme")
    (other,) = any_shop.enqueue(any_shop.greet, [{"name": "c"}])
    arguments = ("jobs", "cancel", "--tenant", "acme", "--reason", "wrong batch", "--database", any_shop.url)
    refused = run(*arguments, input="n\n")
    assert refused.exit_code != 0
    assert "cancel 2 jobs (2 ready)?" in refused.output
    assert set(states(run, any_shop).values()) == {"ready"}
    agreed = run(*arguments, input="y\n")
    assert agreed.exit_code == 0
    assert "2 jobs cancelled" in agreed.stdout
    assert states(run, any_shop) == {ids[0]: "cancelled", ids[1]: "cancelled", other: "ready"}
    entries = json.loads(run("audit", "--json", "--database", any_shop.url).stdout)["entries"]
    assert [(entry["action"], entry["details"]["reason"]) for entry in entries] == [("cancel", "wrong batch")]


def test_a_filter_in_json_needs_the_answer_beforehand(run: Run, shop: Shop) -> None:
    shop.enqueue(shop.greet, [{"name": "a"}])
    arguments = ("jobs", "cancel", "--type", "greet", "--reason", "no", "--json", "--database", shop.url)
    assert run(*arguments).exit_code == 2
    result = run(*arguments, "--yes")
    assert json.loads(result.stdout) == {"cancelled": 1, "asked": 0}
    assert json.loads(run(*arguments).stdout) == {"cancelled": 0, "asked": 0}, "nothing left to ask about"


def test_states_and_limits_narrow_it(run: Run, shop: Shop) -> None:
    shop.enqueue(shop.greet, [{"name": "a"}, {"name": "b"}, {"name": "c"}])
    (later,) = shop.enqueue(shop.greet, [{"name": "d"}], run_in="1h")
    common = ("jobs", "cancel", "--reason", "no", "--yes", "--json", "--database", shop.url)
    assert json.loads(run(*common, "--state", "scheduled").stdout)["cancelled"] == 1
    assert states(run, shop)[later] == "cancelled"
    assert json.loads(run(*common, "--all", "--limit", "2").stdout)["cancelled"] == 2
    assert json.loads(run(*common, "--all").stdout)["cancelled"] == 1


def test_wrong_usage_is_refused(run: Run, shop: Shop) -> None:
    (job_id,) = shop.enqueue(shop.greet, [{"name": "a"}])
    for arguments in (
        (),
        (job_id, "--type", "greet"),
        ("--type", "greet", "--yes"),
        ("--all", "--yes"),
        (job_id, "--grace", "soon"),
    ):
        result = run("jobs", "cancel", *arguments, "--database", shop.url)
        assert result.exit_code == 2, arguments
    mixed = run("jobs", "cancel", "--error", "ValueError", "--reason", "x", "--yes", "--database", shop.url)
    assert (mixed.exit_code, "--state dead" in mixed.stderr) == (2, True)
    assert set(states(run, shop).values()) == {"ready"}
