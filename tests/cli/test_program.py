"""The program itself, `fairlead migrate` and `fairlead workers`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fairlead
from fairlead.cli.program import COMMANDS
from fairlead.core.jobs.workers import WorkerInfo
from tests.cli.conftest import HOSTILE, Run, Shop
from tests.support.processes import heed_ctrl_c

UNREACHABLE = "postgresql://postgres:secret@127.0.0.1:1/none"


def test_no_arguments_print_the_help_with_the_exit_codes(run: Run) -> None:
    for arguments in ((), ("--help",)):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "Exit codes" in result.stdout
        assert "enqueue" in result.stdout
    assert "cancel" in run("jobs").stdout


def test_the_version_is_printed_before_anything_is_imported() -> None:
    """Scripts ask for it often; the whole program takes twenty times as long to import."""
    script = (
        "import sys; sys.argv = ['fairlead', '--version']; from fairlead.cli import main; main(); "
        "print({'typer', 'pydantic', 'fairlead.app'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout == f"fairlead {fairlead.__version__}\nset()\n"


def test_a_command_imports_no_other_command() -> None:
    script = (
        "import sys; sys.argv = ['fairlead', 'keys', '--help']; from fairlead.cli.program import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "print({'fairlead.cli.jobs', 'fairlead.cli.run', 'fairlead.app', 'fairlead.worker.service'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout.endswith("set()\n")


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"fairlead {fairlead.__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        *COMMANDS,
        *(
            f"jobs {name}"
            for name in ("list", "show", "explain", "groups", "change", "run-now", "cancel", "replay", "purge")
        ),
        *(f"settings {name}" for name in ("list", "show", "set", "remove", "kinds")),
        *(f"schedules {name}" for name in ("list", "show", "set", "run-now", "remove")),
        *(f"callbacks {name}" for name in ("list", "show", "set", "rotate", "remove", "test", "redeliver")),
        *(f"keys {name}" for name in ("create", "list", "revoke")),
        *(f"workers {name}" for name in ("list", "drain")),
    ],
)
def test_every_command_has_a_help(run: Run, command: str) -> None:
    assert run(*command.split(), "--help").exit_code == 0


def test_migrate_says_what_it_did(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    first = run("migrate", "--database", url)
    assert first.exit_code == 0
    assert "applied 0001_" in first.stdout
    assert "already up to date" in run("migrate", "--database", url).stdout
    document = json.loads(run("migrate", "--json", "--database", url).stdout)
    assert document == {"database": url, "applied": [], "up_to_date": True}


def test_the_database_comes_from_the_environment_or_the_file(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'named.db'}"
    assert run("migrate", env={"FAIRLEAD_DATABASE_URL": url}).exit_code == 0
    (tmp_path / "fairlead.toml").write_text(f'database_url = "{url}"\n', encoding="utf-8")
    assert run("jobs", "list").stdout == "no jobs\n"


def test_settings_that_cannot_work_are_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "fairlead.toml").write_text('lease = "0s"\nunknown = 1\n', encoding="utf-8")
    result = run("jobs", "list")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("[CONFIG_ERROR]\n")


def test_a_database_in_memory_is_refused(run: Run) -> None:
    for command in (("jobs", "list"), ("migrate",), ("workers", "list"), ("enqueue", "greet")):
        assert run(*command, "--database", "sqlite:///:memory:").exit_code == 1


def test_workers_live_and_lost(run: Run, shop: Shop) -> None:
    figures = {"succeeded": 7, "retrying": 2, "dead": 1, "running": 3, "refused": 4}

    async def register() -> None:
        async with shop.app:
            store = await shop.app.store()
            for name, lease in (("1" * 8, 60.0), ("2" * 8, 0.0)):
                worker_id = f"{name}-0000-4000-8000-000000000000"
                info = WorkerInfo(worker_id, "[red]host", 42, ("short", "long"), ("greet",), 10, "0.1.0")
                await store.workers.register(info, lease)
            await store.workers.report("11111111-0000-4000-8000-000000000000", figures)

    assert run("workers", "list", "--database", shop.url).stdout == "no workers\n"
    asyncio.run(register())
    live, lost = json.loads(run("workers", "list", "--json", "--database", shop.url).stdout)["workers"]
    assert (live["state"], live["report"]) == ("active", figures)
    assert (lost["state"], lost["lease_left"]) == ("lost", 0.0)
    lines = run("workers", "list", "--database", shop.url).stdout.splitlines()
    assert any("11111111" in line and "[red]host" in line and "live" in line for line in lines)
    assert any("22222222" in line and "lost" in line for line in lines)


@pytest.mark.parametrize("arguments", [("jobs", "list"), ("workers", "list"), ("migrate",), ("enqueue", "greet")])
def test_store_unavailable_and_schema_mismatch(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    away = run(*arguments, "--database", UNREACHABLE)
    assert (away.exit_code, away.stdout) == (4, "")
    assert away.stderr.endswith("[STORE_UNAVAILABLE]\n")
    assert "secret" not in away.stderr
    if arguments != ("migrate",):
        result = run(*arguments, "--json", "--database", f"sqlite:///{tmp_path / 'none.db'}")
        assert result.exit_code == 5
        assert json.loads(result.stderr)["error"]["code"] == "SCHEMA_MISMATCH"


def test_unknown_commands_and_options(run: Run) -> None:
    for arguments in (("bogus",), ("jobs", "bogus"), ("jobs", "show"), ("workers", "list", "--bogus")):
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.endswith("[USAGE]\n")
        assert json.loads(run(*arguments, "--json").stderr)["error"]["code"] == "USAGE"


def test_errors_do_not_steer_the_terminal(run: Run) -> None:
    result = run("jobs", "show", HOSTILE, "--database", "sqlite:///none.db")
    assert not any(character in result.stderr for character in "\x1b\x07\u202e\x9b")


def test_ctrl_c_ends_with_130_and_no_traceback(shop: Shop) -> None:
    command = [sys.executable, "-m", "fairlead", "enqueue", "greet", '{"name": "a"}', "--wait", "60"]
    environment = {**os.environ, "FAIRLEAD_DATABASE_URL": shop.url}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_ctrl_c
    ) as process:
        _wait_for_a_job(shop)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors


def _wait_for_a_job(shop: Shop) -> None:
    async def count() -> int:
        async with shop.app:
            return len((await shop.app.jobs()).jobs)

    deadline = time.monotonic() + 60
    while not asyncio.run(count()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
