"""Each study of benchmarks/ runs with tiny sizes, computes its figures and leaves nothing behind."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import fairness, footprint, growth, herd
from benchmarks.__main__ import ROOT, app
from benchmarks.chart import BEGIN, END, MISSING, PAGES, chart, table, with_table
from benchmarks.fairness import jain
from benchmarks.floor import measure
from benchmarks.subprocesses import opened_helpers

PROGRAM = """
from benchmarks.subprocesses import serve

serve(lambda numbers: [0.123456789] * numbers[0])
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch size, few jobs and short pauses."""
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(measure, "SMALLEST_TRIAL", 50)
    monkeypatch.setattr(measure, "BATCHES", (100,))
    monkeypatch.setattr(herd, "SETTLE_DOWN", 0.0)
    monkeypatch.setattr(herd, "AHEAD", 0.2)
    monkeypatch.setattr(fairness, "WARM_UP", 0.2)
    monkeypatch.setattr(footprint, "SETTLE_DOWN", 0.1)


def study(folder: Path, *arguments: str) -> dict[str, Any]:
    name, *options = arguments
    store = f"sqlite:///{folder}/given.db"
    result = CliRunner().invoke(app, [name, "--store", store, *options, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert list(folder.iterdir()) == []
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_floor(tmp_path: Path) -> None:
    found = study(tmp_path, "floor", "--jobs", "400")
    best = [row for row in found["rows"] if row["best"]]
    assert {row["jobs_per_s"] for row in best} >= {found[f"{phase}_per_s"] for phase in ("insert", "drain", "flow")}


def test_shares(tmp_path: Path) -> None:
    sizes = ["--jobs", "300", "--rounds", "1", "--seconds", "0.2", "--processes", "1"]
    found = study(tmp_path, "shares", *sizes)
    assert [row["what"] for row in found["rows"]] == ["drain, jobs/s", "bulk, jobs/s", "latency, ms"]
    assert all(row["share"] == pytest.approx(row["fairlead"] / row["floor"], abs=0.002) for row in found["rows"])


def test_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.flow.FLOOR_JOBS", 400)
    found = study(tmp_path, "flow", "--seconds", "1", "--processes", "1")
    assert found["share_of_floor"] == pytest.approx(found["jobs_per_s"] / found["floor_jobs_per_s"], abs=0.002)
    assert found["p50_ms"] <= found["p99_ms"]


def test_growth(tmp_path: Path) -> None:
    found = study(tmp_path, "growth", "--jobs", "200", "--large", "300", "--tenants", "10", "--rounds", "1")
    first, *others = found["rows"]
    assert [row["case"] for row in others] == ["backlog", "tenants", "history", "closed"]
    for row in others:
        assert found[f"{row['case']}_cost_ratio"] == round(row["us_per_job"] / first["us_per_job"], 2)


@pytest.mark.postgres
def test_growth_on_postgres_with_an_idle_transaction(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "cases", lambda *_: [growth.Case("plain"), growth.Case("idle", idle_transaction=True)])
    options = ["--jobs", "200", "--rounds", "1", "--json"]
    result = CliRunner().invoke(app, ["growth", "--store", postgres_url, *options], catch_exceptions=False)
    assert json.loads(result.stdout)["idle_cost_ratio"] > 0


def test_herd(tmp_path: Path) -> None:
    found = study(tmp_path, "herd", "--jobs", "500", "--seconds", "0.3", "--takes", "0.01")
    assert [row["case"] for row in found["rows"]] == ["quiet", "herd", "flood"]
    assert all(row[f"{kind}_p99_ms"] >= 0 for row in found["rows"] for kind in ("new", "due"))
    assert found["allowed_ms"] >= found["quiet_new_p99_ms"] + 10


def test_lateness(tmp_path: Path) -> None:
    found = study(tmp_path, "lateness", "--seconds", "0.5", "--rate", "40")
    assert found["jobs"] == 20
    assert 0 <= found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] <= found["max_ms"]


def test_poison(tmp_path: Path) -> None:
    found = study(tmp_path, "poison", "--jobs", "300", "--poison-jobs", "100", "--rounds", "1")
    alone, beside = found["rows"]
    assert (alone["poison_runs"], beside["poison_runs"] > 0) == (0, True)
    assert found["share_of_alone"] == pytest.approx(beside["jobs_per_s"] / alone["jobs_per_s"], abs=0.002)


def test_fairness(tmp_path: Path) -> None:
    sizes = ["--seconds", "1", "--tenants", "4", "--weights", "1,3", "--processes", "1", "--concurrency", "4"]
    found = study(tmp_path, "fairness", *sizes)
    assert 0 < found["jain"] <= 1
    assert found["worst_share_error"] == max(abs(row["share_error"]) for row in found["rows"])
    assert sorted((row["weight"], row["takes"]) for row in found["rows"]) == [(1, 0.01), (1, 0.1), (1, 1), (3, 0.01)]
    entitled, delivered = (sum(row[name] for row in found["rows"]) for name in ("entitled_s", "delivered_s"))
    assert entitled == pytest.approx(delivered, abs=0.05)


def test_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "UNPROVEN", 0.5)
    sizes = ["--seconds", "3", "--takes", "0.1,0.02", "--weights", "1,3", "--processes", "1", "--concurrency", "4"]
    found = study(tmp_path, "windows", *sizes)
    assert [(row["tenant"], row["takes"]) for row in found["rows"]] == [("tenant-0", 0.1), ("tenant-1", 0.02)]
    assert 0 < found["least_ratio"] <= 1 <= found["most_ratio"]
    small, large = found["rows"]
    assert large["due_s"] == pytest.approx(3 * small["due_s"], abs=0.1)


def test_jain() -> None:
    assert jain([1.0, 1.0, 1.0]) == 1.0
    assert jain([3.0, 0.0, 0.0]) == pytest.approx(1 / 3)


def test_footprint(tmp_path: Path) -> None:
    found = study(tmp_path, "footprint", "--rounds", "1", "--seconds", "0.1")
    assert found["first_handler_ms"] > 0
    assert found["version_ms"] > 0
    assert found["idle_mb"] > 10


def test_workloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.workloads.WORKLOADS", {"one": {"handler": "result"}, "two": {"handler": "thread"}})
    monkeypatch.setattr("benchmarks.workloads.IDLE_SECONDS", 0.1)
    found = study(tmp_path, "workloads", "--jobs", "400", "--rounds", "1")
    assert [row["workload"] for row in found["rows"]] == ["one", "two"]
    assert all(row["one_process"] > 0 and row["two_processes"] > 0 for row in found["rows"])


async def test_an_answer_may_be_a_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talkative.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    async with opened_helpers("talkative", 1) as (helper,):
        assert len(await helper.ask([100_000])) == 100_000


def figures() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "benchmarks/figures.json").read_text())
    return found


def test_pages_show_the_figures_that_are_written_down() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text()
        assert text == with_table(text, table(figures())), f"run `python -m benchmarks chart`: {page} is old"
        assert BEGIN in text
        assert END in text
    assert (ROOT / "docs/performance.svg").read_text() == chart(figures())


def test_what_is_not_measured_is_marked() -> None:
    given = figures()
    given["rows"] = [{"what": "a, jobs/s", "command": "floor", "before": "1", "now": None, "peer": "", "bars": None}]
    assert f"| a, jobs/s | `python -m benchmarks floor` | 1 | {MISSING} | - |" in table(given)
