"""Each subcommand of `fairlead bench` runs with tiny sizes, computes its figures and leaves nothing behind."""

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

from fairlead.bench import latency
from fairlead.bench.app import KINDS
from fairlead.bench.report import percentiles
from fairlead.cli.bench import HandlerKind, app
from tests.support.processes import heed_ctrl_c

SETUP = {"store", "version", "durability", "python", "cores", "load_average", "fairlead"}
PROGRAM = "from fairlead.cli.bench import app; app()"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "SETTLE_DOWN", 0.1)


def bench(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["setup"].keys() >= SETUP
    return document


def file_in(folder: Path) -> str:
    return f"sqlite:///{folder}/given.db"


def test_drain(tmp_path: Path) -> None:
    spread = ["--tenants", "2", "--priorities", "2"]
    found = bench("drain", "--store", file_in(tmp_path), "--jobs", "203", "--rounds", "3", *spread)
    rates = [row["jobs_per_s"] for row in found["rows"]]
    assert found["jobs"] == 203
    assert found["jobs_per_s"] == sorted(rates)[1]
    assert all(row["jobs_per_s"] == pytest.approx(203 / row["seconds"], rel=0.01) for row in found["rows"])
    assert all(row["settled_jobs_per_s"] <= row["jobs_per_s"] for row in found["rows"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("handler", [kind for kind in KINDS if kind != "result"])
def test_drain_with_each_kind_of_handler(tmp_path: Path, handler: str) -> None:
    arguments = ["--jobs", "100", "--rounds", "1", "--handler", handler]
    assert bench("drain", "--store", file_in(tmp_path), *arguments)["settled_jobs_per_s"] > 0


def test_every_kind_of_handler_can_be_chosen() -> None:
    assert tuple(HandlerKind) == KINDS


def test_enqueue(tmp_path: Path) -> None:
    found = bench("enqueue", "--store", file_in(tmp_path), "--seconds", "0.1", "--callers", "5")
    names = ["one_caller", "one_blocking_caller", "concurrent_callers", "bulk"]
    assert [row["callers"] for row in found["rows"]] == names
    assert all(found[f"{name}_per_s"] > 0 for name in names)
    assert list(tmp_path.iterdir()) == []


def test_latency(tmp_path: Path) -> None:
    found = bench("latency", "--store", file_in(tmp_path), "--seconds", "0.2")
    assert found["jobs"] == 10
    assert 0 <= found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] <= found["max_ms"]
    assert list(tmp_path.iterdir()) == []


def test_http(tmp_path: Path) -> None:
    found = bench("http", "--store", file_in(tmp_path), "--seconds", "0.2", "--clients", "3")
    assert found["requests"] > 0
    assert found["requests_per_s"] > 0
    assert found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] <= found["max_ms"]
    assert list(tmp_path.iterdir()) == []


def test_percentiles() -> None:
    found = percentiles([number / 1000 for number in range(100, 0, -1)])
    assert found == {"p50_ms": 51, "p95_ms": 96, "p99_ms": 100, "max_ms": 100}
    assert percentiles([0.5]) == {"p50_ms": 500, "p95_ms": 500, "p99_ms": 500, "max_ms": 500}


def test_without_json_people_get_a_table(tmp_path: Path) -> None:
    arguments = ["enqueue", "--store", file_in(tmp_path), "--seconds", "0.1"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "bulk_per_s" in result.stdout
    assert "python" in result.stdout


@pytest.mark.postgres
def test_drain_and_latency_on_postgres(postgres_url: str) -> None:
    drained = bench("drain", "--store", postgres_url, "--jobs", "400", "--processes", "2", "--rounds", "1")
    assert drained["setup"]["durability"]["fsync"] in ("on", "off")
    assert drained["jobs_per_s"] > 0
    assert bench("latency", "--store", postgres_url, "--seconds", "0.2")["jobs"] == 10
    with psycopg.connect(postgres_url) as connection:
        query = "select count(*) from pg_namespace where nspname = 'fairlead_bench'"
        assert connection.execute(query).fetchone() == (0,)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM, "latency", "--store", file_in(tmp_path), "--seconds", "60"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=heed_ctrl_c
    )
    try:
        children = until_workers_run(process)
        os.kill(process.pid, number)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
    assert list(tmp_path.iterdir()) == []
    _, left = psutil.wait_procs(children, timeout=20)  # one that was starting ends when it finds nobody
    assert not [child for child in left if child.status() != psutil.STATUS_ZOMBIE]


def until_workers_run(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes below it, as soon as a supervisor and its worker are among them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(psutil.Error):  # one that ends while we look
            children = psutil.Process(process.pid).children(recursive=True)
            if len(children) >= 2:
                return children
        time.sleep(0.05)
    raise AssertionError(f"no worker was started; the benchmark's exit code is {process.poll()}")
