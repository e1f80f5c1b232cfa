"""`fairlead status`: findings, alerts, and the waits of each pool."""

import asyncio
import json
from pathlib import Path

from fairlead.core.fairness.run_times import bucket_of
from fairlead.core.insight.wait_times import WaitCount
from tests.cli.conftest import HOSTILE, Run, Shop

UNREACHABLE = "postgresql://postgres:secret@127.0.0.1:1/none"


def test_a_new_database_is_well(run: Run, any_shop: Shop) -> None:
    result = run("status", "--database", any_shop.url)
    assert result.exit_code == 0
    assert "All is well" in result.stdout
    assert "durability" in result.stdout
    document = json.loads(run("status", "--json", "--database", any_shop.url).stdout)
    assert document["healthy"] is True
    assert all(finding.keys() >= {"level", "topic", "message", "advice"} for finding in document["findings"])
    (schedule,) = [finding for finding in document["findings"] if finding["topic"] == "schedule"]
    assert schedule["oldest_due_unpromoted_age"] == 0


def test_a_database_that_cannot_be_used_is_a_problem(run: Run, tmp_path: Path) -> None:
    missing = run("status", "--database", f"sqlite:///{tmp_path / 'none.db'}")
    assert missing.exit_code == 1
    assert "fairlead migrate" in missing.stdout
    for url in (UNREACHABLE, "mysql://user:secret@host/x"):
        result = run("status", "--json", "--database", url)
        assert result.exit_code == 1
        document = json.loads(result.stdout)
        (finding,) = document["findings"]
        assert (finding["level"], document["status"]) == ("problem", None)
        assert "secret" not in finding["advice"]


def test_alerts_say_what_is_wrong_and_what_to_do(run: Run, any_shop: Shop) -> None:
    shop = any_shop
    run("pause", "type", "greet", "--reason", HOSTILE, "--database", shop.url)
    run("enqueue", "greet", '{"name": "a"}', "--database", shop.url)
    found = json.loads(run("status", "--json", "--database", shop.url).stdout)["status"]["health"]
    assert found["level"] == "problem"
    assert [(alert["level"], alert["code"]) for alert in found["alerts"]] == [
        ("problem", "NO_WORKER"), ("warning", "PAUSED"),
    ]  # fmt: skip
    assert "fairlead worker APP --pool" in found["alerts"][0]["hint"]
    table = run("status", "--database", shop.url).stdout
    assert "NO_WORKER" in table
    assert "\x1b" not in table


def test_waits_by_pool(run: Run, any_shop: Shop) -> None:
    async def write() -> None:
        async with any_shop.app:
            store = await any_shop.app.store()
            await store.shares.record_usage([], [], [WaitCount("medium", bucket_of(0.25), 7)])

    asyncio.run(write())
    any_shop.enqueue(any_shop.greet, [{"name": "a"}])
    document = json.loads(run("status", "--json", "--database", any_shop.url).stdout)["status"]
    assert document["waits"]["pools"] == {"medium": {"count": 7, "p50": 0.28125, "p95": 0.28125, "p99": 0.28125}}
    lines = run("status", "--database", any_shop.url).stdout.splitlines()
    (medium,) = [line.split() for line in lines if line.startswith("medium")]
    assert medium[-4:] == ["7", "281ms", "281ms", "281ms"]
