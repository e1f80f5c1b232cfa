"""Each subcommand runs with tiny sizes, says what it must, and leaves nothing behind. Nothing here is timed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from typer.testing import CliRunner

from fairlead.bench import drain, fairness, growth, herd, latency, lateness
from fairlead.bench.floor import measure
from fairlead.cli.bench import app
from tests.support.processes import heed_ctrl_c

SETUP = {"store", "version", "durability", "python", "cores", "load_average", "fairlead"}
PROGRAM = "from fairlead.cli.bench import app; app()"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch size, few jobs and short pauses are enough to see that everything works."""
    monkeypatch.setattr(measure, "SMALLEST_TRIAL", 50)
    monkeypatch.setattr(measure, "BATCHES", (100,))
    monkeypatch.setattr(drain, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(latency, "SETTLE_DOWN", 0.1)


def bench(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def file_in(folder: Path) -> str:
    return f"sqlite:///{folder}/given.db"


def check_share(found: dict[str, Any]) -> None:
    assert found["setup"].keys() >= SETUP
    assert found["jobs_per_s"] > 0
    assert found["floor_jobs_per_s"] > 0
    assert found["share_of_floor"] == pytest.approx(found["jobs_per_s"] / found["floor_jobs_per_s"], abs=0.002)


def test_drain(tmp_path: Path) -> None:
    arguments = [
        "--jobs",
        "400",
        "--tenants",
        "2",
        "--types",
        "2",
        "--failing",
        "0.1",
        "--concurrency",
        "50",
        "--memory",
        "--rounds",
        "1",
    ]
    found = bench("drain", "--store", file_in(tmp_path), *arguments)
    check_share(found)
    assert found["jobs"] == 400
    assert found["setup"]["processes"] == [1]
    assert found["setup"]["payload_bytes"] == 64
    assert found["memory_idle_mb"] > 0
    assert list(tmp_path.iterdir()) == []


def test_of_several_rounds_the_median_counts(tmp_path: Path) -> None:
    found = bench("drain", "--store", file_in(tmp_path), "--jobs", "200", "--rounds", "3")
    check_share(found)
    assert len(found["shares_of_floor"]) == 3
    assert found["share_of_floor"] == sorted(found["shares_of_floor"])[1]


def test_poison(tmp_path: Path) -> None:
    arguments = ["--jobs", "300", "--poison-jobs", "100", "--concurrency", "20", "--rounds", "1"]
    found = bench("poison", "--store", file_in(tmp_path), *arguments)
    assert found["setup"].keys() >= SETUP
    assert [row["jobs"] for row in found["rows"]] == [300, 300]
    assert found["rows"][0]["poison_runs"] == 0
    assert found["share_of_alone"] == pytest.approx(found["jobs_per_s"] / found["alone_jobs_per_s"], abs=0.002)
    assert list(tmp_path.iterdir()) == []


def test_flow(tmp_path: Path) -> None:
    found = bench("flow", "--store", file_in(tmp_path), "--seconds", "0.5", "--batch", "50", "--floor-jobs", "400")
    check_share(found)
    assert found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"]
    assert list(tmp_path.iterdir()) == []


async def test_the_floor_of_a_flow_runs_on_for_as_long(tmp_path: Path) -> None:
    found = await measure.sustain_floor(file_in(tmp_path), 400, "{}", 0.25)
    short, long = found.tried[-2], found.tried[-1]
    assert found.jobs_per_s == long["jobs_per_s"]
    assert found.short_jobs_per_s == max(one["jobs_per_s"] for one in found.tried[-3:-1])
    assert (long["batch"], long["processes"]) == (found.batch, found.processes)
    assert long["jobs"] == max(400, int(max(one["jobs_per_s"] for one in found.tried[-3:-1]) * 0.25)) > short["jobs"]


def test_enqueue(tmp_path: Path) -> None:
    found = bench("enqueue", "--store", file_in(tmp_path), "--seconds", "0.1", "--callers", "5", "--floor-jobs", "400")
    check_share(found)
    assert found["one_caller_per_s"] > 0
    assert found["one_blocking_caller_per_s"] > 0
    assert found["concurrent_callers_per_s"] > 0
    rates = {row["callers"]: row["jobs_per_s"] for row in found["rows"]}
    for name, floor in (("one_caller", "one"), ("one_blocking_caller", "one"), ("concurrent_callers", "5")):
        share = found[f"{name}_per_s"] / rates[f"floor, {floor} at a time"]
        assert found[f"{name}_share_of_floor"] == pytest.approx(share, abs=0.002)
    assert found["bulk_per_s"] == found["jobs_per_s"]
    assert list(tmp_path.iterdir()) == []


def test_latency(tmp_path: Path) -> None:
    found = bench("latency", "--store", file_in(tmp_path), "--seconds", "0.2")
    assert found["jobs"] == 10
    assert found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] <= found["max_ms"]
    assert 0 <= found["floor_p50_ms"] <= found["floor_p95_ms"] <= found["floor_p99_ms"] <= found["floor_max_ms"]
    assert list(tmp_path.iterdir()) == []


def test_http(tmp_path: Path) -> None:
    found = bench("http", "--store", file_in(tmp_path), "--seconds", "0.2", "--clients", "3")
    assert found["requests"] > 0
    assert found["requests_per_s"] > 0
    assert found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] <= found["max_ms"]
    assert list(tmp_path.iterdir()) == []


def test_drain_under_a_limit(tmp_path: Path) -> None:
    found = bench("drain", "--store", file_in(tmp_path), "--jobs", "200", "--limit", "5", "--rounds", "1")
    assert (found["jobs"], found["setup"]["limit"]) == (200, 5)


def test_lateness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lateness, "AHEAD", 0.2)
    found = bench("lateness", "--store", file_in(tmp_path), "--seconds", "0.5", "--rate", "40")
    assert found["jobs"] == 20
    assert 0 <= found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] <= found["max_ms"]
    assert list(tmp_path.iterdir()) == []


def test_herd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herd, "SETTLE_DOWN", 0.0)
    monkeypatch.setattr(herd, "AHEAD", 0.1)
    found = bench("herd", "--store", file_in(tmp_path), "--jobs", "500", "--seconds", "0.3", "--takes", "0.01")
    cases = ["quiet", "herd", "flood"]
    assert [row["case"] for row in found["rows"]] == cases
    assert all(found[f"{case}_{kind}_p99_ms"] >= 0 for case in cases for kind in ("new", "due"))
    assert found["flood_allowed_ms"] >= found["quiet_new_p99_ms"] + 10
    assert list(tmp_path.iterdir()) == []


def test_growth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "cases", lambda scale: [growth.Case(name, 300, 2, 5, 50) for name in growth.SERIES])
    found = bench("growth", "--store", file_in(tmp_path), "--jobs", "200")
    assert {"backlog_cost_ratio", "lanes_cost_ratio", "history_cost_ratio"} <= found.keys()
    assert all(row["us_per_job"] > 0 for row in found["rows"])
    assert list(tmp_path.iterdir()) == []


def test_fairness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "WARM_UP", 0.2)
    arguments = ["--seconds", "1", "--tenants", "4", "--durations", "10ms,50ms", "--weights", "1,3"]
    found = bench("fairness", "--store", file_in(tmp_path), *arguments, "--processes", "1", "--concurrency", "4")
    assert 0 < found["jain"] <= 1
    assert found["worst_share_error"] == max(abs(row["share_error"]) for row in found["rows"])
    assert sorted((row["weight"], row["job_time"]) for row in found["rows"]) == [
        (1, "10ms"),
        (1, "50ms"),
        (3, "10ms"),
        (3, "50ms"),
    ]
    entitled, delivered = (sum(row[name] for row in found["rows"]) for name in ("entitled_s", "delivered_s"))
    assert entitled == pytest.approx(delivered, abs=0.05)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--durations", "0s"], ["--durations", "soon"], ["--weights", "1,x"]])
def test_fairness_refuses_what_it_cannot_measure(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["fairness", *arguments]).exit_code != 0


def test_floor(tmp_path: Path) -> None:
    found = bench("floor", "--store", file_in(tmp_path), "--jobs", "400")
    assert all(found[phase]["jobs_per_s"] > 0 for phase in ("insert", "drain", "flow"))
    assert found["floor_jobs_per_s"] == found["flow"]["jobs_per_s"]
    assert list(tmp_path.iterdir()) == []


def test_layers() -> None:
    found = bench("layers")
    assert all(cost > 0 for cost in found["us_per_job"].values())
    assert {row["verb"] for row in found["rows"]} == {"enqueue", "claim", "run", "settle"}


def test_without_json_people_get_a_table() -> None:
    result = CliRunner().invoke(app, ["layers"], catch_exceptions=False)
    assert "take a turn" in result.stdout
    assert "python" in result.stdout


def test_processes_are_a_number_or_best() -> None:
    result = CliRunner().invoke(app, ["drain", "--processes", "many"])
    assert result.exit_code == 2


@pytest.mark.postgres
def test_drain_and_floor_on_postgres(postgres_url: str) -> None:
    drained = bench("drain", "--store", postgres_url, "--jobs", "400", "--processes", "2", "--rounds", "1")
    check_share(drained)
    assert drained["processes"] == 2
    assert drained["setup"]["durability"]["fsync"] in ("on", "off")
    assert bench("floor", "--store", postgres_url, "--jobs", "400")["flow"]["jobs_per_s"] > 0
    assert rows_outside(postgres_url) == 0


@pytest.mark.postgres
def test_latency_on_postgres(postgres_url: str) -> None:
    found = bench("latency", "--store", postgres_url, "--seconds", "0.2")
    assert found["jobs"] == 10
    assert 0 <= found["floor_p50_ms"] <= found["floor_max_ms"]
    assert rows_outside(postgres_url) == 0


@pytest.mark.postgres
def test_growth_on_postgres_with_a_held_transaction(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "cases", lambda scale: [growth.Case(name, 300, 2, 5, 50) for name in growth.SERIES])
    found = bench("growth", "--store", postgres_url, "--jobs", "200", "--hold", "0.3")
    assert found["hold_share"] > 0
    assert rows_outside(postgres_url) == 0


def rows_outside(url: str) -> int:
    """Rows in the tables that are not the benchmark's, and schemas that are."""
    with psycopg.connect(url) as connection:
        query = "select (select count(*) from job) + (select count(*) from job_history) + count(*) from pg_namespace"
        row = connection.execute(f"{query} where nspname = 'fairlead_bench'").fetchone()
        assert row
        return int(row[0])


@pytest.mark.parametrize(
    ("number", "bench", "child"),
    [
        (signal.SIGINT, "lateness", "fairlead.cli.child"),
        (signal.SIGTERM, "lateness", "fairlead.cli.child"),
        (signal.SIGINT, "latency", "fairlead.bench.floor.starts"),
    ],
)
def test_interrupted_it_leaves_nothing(tmp_path: Path, number: signal.Signals, bench: str, child: str) -> None:
    command = [sys.executable, "-c", PROGRAM, bench, "--store", file_in(tmp_path), "--seconds", "60"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=heed_ctrl_c
    )
    try:
        children = until_it_runs(process, child)
        os.kill(process.pid, number)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
    assert list(tmp_path.iterdir()) == []
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


def until_it_runs(process: subprocess.Popen[bytes], module: str) -> list[psutil.Process]:
    """The processes below it, as soon as one that runs the module is among them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(psutil.Error):  # one that ends while we look
            children = psutil.Process(process.pid).children(recursive=True)
            if any(module in child.cmdline() for child in children):
                return children
        time.sleep(0.05)
    raise AssertionError(f"{module} was not started; the benchmark's exit code is {process.poll()}")
