"""The simulator itself: it repeats, it counts right, it draws, and `fairlead simulate` shows all of it."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fairlead.cli.program import app
from fairlead.sim.findings import simulate, waits_without_others
from fairlead.sim.picture import draw
from tests.sim.making import run, scenario, tenant

SMALL = """
name = "small <one>"
length = "30s"
warm_up = "5s"

[pools.short]
slots = 4
workers = 2
wait_target = "500ms"
slot_hour_price = 0.5

[pools.long]
slots = 10
scale = 0.5

[types.quick]
pool = "short"
part = 9
duration = { kind = "exponential", mean = "100ms" }
priority = { high = 1, low = 1 }

[types.slow]
pool = "long"
duration = { kind = "lognormal", mean = "2s", most = "5s" }

[[tenants]]
name = "steady"
rate = 20

[[tenants]]
name = "crowd"
tier = "free"
count = 5
pattern = "bursty"
rate = "600/min"

[[tenants]]
name = "heap"
tier = "pro"
pattern = "at-once"
jobs = 500
begin = "10s"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_json_has_the_figures(small: Path) -> None:
    result = CliRunner().invoke(app, ["simulate", str(small), "--json", "--tenants", "3"])
    found = json.loads(result.stdout)
    assert 0.9 < found["jain"] <= 1
    assert 0 <= found["worst_share_error"] < 0.5
    assert [pool["pool"] for pool in found["pools"]] == ["short", "long"]
    assert found["pools"][1]["simulated_slots"] == 5
    assert found["pools"][0]["cost_per_day"] == 4 * 24 * 0.5
    assert len(found["pools"][0]["worst_tenants"]) == 3
    assert found["pools"][0]["wait_p50"] <= found["pools"][0]["wait_p99"] <= found["pools"][0]["wait_max"]


def test_people_get_tables_and_a_picture(small: Path, tmp_path: Path) -> None:
    picture = tmp_path / "small.svg"
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["simulate", str(small), "--picture", str(picture)])
    assert result.exit_code == 0
    for words in ("small <one>", "steady", "crowd-5", "heap", "jain:", "worst_share_error:"):
        assert words in result.stdout
    root = ElementTree.fromstring(picture.read_text())
    assert root.tag.endswith("svg")
    assert "small <one>" in "".join(root.itertext())


def test_the_same_seed_gives_the_same_and_another_one_does_not(small: Path) -> None:
    first, second, other = (
        CliRunner().invoke(app, ["simulate", str(small), "--json", "--seed", seed]).stdout for seed in ("1", "1", "2")
    )
    assert first == second
    assert first != other


def test_a_broken_scenario_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[pools.short]\nslots = -1\n")
    result = CliRunner().invoke(app, ["simulate", str(path)])
    assert result.exit_code == 1
    assert "pools.short.slots" in result.stderr


def test_what_was_submitted_is_done_and_every_slot_second_is_counted() -> None:
    tenants = [{"name": "one", "pattern": "at-once", "jobs": 50}, {"name": "two", "pattern": "at-once", "jobs": 30}]
    found = run(tenants, {"a": {"mean": "1s"}}, 10, length=100)
    assert [one.jobs for one in found.pools[0].tenants] == [50, 30]
    assert [one.delivered for one in found.pools[0].tenants] == [pytest.approx(50), pytest.approx(30)]


def test_a_pool_that_is_too_small_shows_who_waits() -> None:
    """Jobs that never started count with the time they have waited."""
    found = run([{"name": "one", "pattern": "constant", "rate": 2}], {"a": {"mean": "1s"}}, 1, length=100)
    waits = tenant(found, "one").waits
    assert waits is not None
    assert waits.p99 == pytest.approx(50, abs=3)
    assert found.pools[0].busy == pytest.approx(1.0, abs=0.02)


def test_alone() -> None:
    assert waits_without_others([0.0, 0.0, 0.0, 5.0], [2.0, 1.0, 1.0, 1.0], 2) == [0.0, 0.0, 1.0, 0.0]


def test_a_picture_of_tenants_without_an_end_of_work() -> None:
    findings = simulate(scenario([{"name": "one", "pattern": "backlog"}], {"a": {"mean": "1s"}}, 2, length=60))
    assert "backlog without end" in draw(findings)
    assert findings.pools[0].waits is None
