"""The examples and the README's program do what their texts say, each in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 60


def environment(**extra: str) -> dict[str, str]:
    """Ours without any setting of Fairlead, and with the examples on the path."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLEAD_")}
    return {**ours, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **extra}


def run(folder: Path, *arguments: str, **extra: str) -> str:
    """The output of a Python program that must end well, run in a folder of its own."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def test_an_order_and_its_mail_share_a_transaction(tmp_path: Path, database: str) -> None:
    output = run(tmp_path, "-m", "examples.web_transaction", FAIRLEAD_DATABASE_URL=database)
    committed, rolled_back, worked = re.split(r"\n(?=An order that is rolled back|A worker starts)", output.strip())
    assert "orders in the database: 1; jobs: ready" in committed
    assert "orders in the database: 0; jobs: none" in rolled_back
    assert worked.count("worker: mail to ada@example.org") == 1
    assert "bob@example.org" not in worked
    assert worked.endswith("orders in the database: 1; jobs: succeeded\n  orders in the database: 0; jobs: none")


def test_a_second_import_adds_nothing(tmp_path: Path, database: str) -> None:
    command = ("-m", "examples.batch_import", "--rows", "1200")
    first = run(tmp_path, *command, FAIRLEAD_DATABASE_URL=database)
    assert first.startswith("1,200 rows submitted, 0 were there before")
    assert "  1,200 of 1,200 rows done\n" in first
    assert "row 500: " in first
    assert first.endswith("  1 rows could not be imported\n")

    second = run(tmp_path, *command, FAIRLEAD_DATABASE_URL=database)
    assert second.startswith("0 rows submitted, 1,200 were there before")
    assert second.endswith("  1 rows could not be imported\n")


def test_a_report_is_due_every_night_and_the_schedule_is_made_once(tmp_path: Path, database: str) -> None:
    for _ in range(2):
        output = run(tmp_path, "-m", "examples.nightly_report", FAIRLEAD_DATABASE_URL=database)
        assert len(re.findall(r"The day is closed at \S+ 02:00 CES?T\n", output)) == 3


def test_a_night_is_run_by_hand_and_an_old_payload_is_upgraded(tmp_path: Path, database: str) -> None:
    output = run(tmp_path, "-m", "examples.nightly_report", "--now", FAIRLEAD_DATABASE_URL=database)
    assert 'Today\'s payload: {"days":1,"total":1250,"currency":"EUR"' in output
    assert 'The last release enqueued version 1: {"day":' in output
    assert "An old payload:  {'days': 1, 'total': 1250, 'currency': 'EUR'" in output


def test_a_killed_job_goes_on_where_it_was(tmp_path: Path, database: str) -> None:
    output = run(tmp_path, "-m", "examples.long_job", FAIRLEAD_DATABASE_URL=database)
    runs = [[int(row) for row in re.findall(r"row (\d+) in", part)] for part in output.split("killed after")]
    assert [part[-1] for part in runs] == [20, 40, 60]
    assert runs[0][0] == 1
    assert all(20 >= again[0] - 1 > 1 for again in runs[1:2])
    assert all(40 >= again[0] - 1 > 20 for again in runs[2:])
    assert set().union(*runs) == set(range(1, 61))
    assert "done in attempt 1\nresumed 2 times" in output


def test_the_program_of_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found
    program = found.group(1)
    assert len([line for line in program.splitlines() if line.strip()]) <= 15
    (tmp_path / "hello.py").write_text(program, encoding="utf-8")
    assert run(tmp_path, "hello.py") == "Hello, Ada!\n"


def ended(log: str, kind: str, state: str) -> int:
    """How many runs of a type the log says ended so."""
    return sum(f'"type": "{kind}"' in line and f'"state": "{state}"' in line for line in log.splitlines())


def test_the_tour_makes_one_stream_however_often_it_is_started(tmp_path: Path) -> None:
    log = tmp_path / "tour.log"
    starts = ["--start", "visitors", "--start", "visitors"]
    with log.open("w", encoding="utf-8") as stderr:
        tour = subprocess.Popen(
            [str(Path(sys.executable).parent / "fairlead"), "up", "examples.tour:app", *starts],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            deadline = time.monotonic() + SECONDS
            while ended(log.read_text(encoding="utf-8"), "visitors", "succeeded") < 6 and time.monotonic() < deadline:
                assert tour.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.1)
            tour.send_signal(signal.SIGTERM)
            assert tour.wait(SECONDS) == 0
        finally:
            tour.kill()
            tour.wait()
    text = log.read_text(encoding="utf-8")
    seconds = run(tmp_path, "-c", COUNT_RUNS)
    assert seconds.strip() == "no second twice"
    assert ended(text, "send_email", "succeeded") > 0


COUNT_RUNS = """
import asyncio, collections
from examples.tour import app

async def main():
    async with app:
        page = await app.jobs(type="visitors", limit=1000)
    seconds = collections.Counter(job.payload for job in page.jobs if "second" in job.payload)
    assert len(seconds) >= 3, seconds
    print("no second twice" if max(seconds.values()) == 1 else seconds)

asyncio.run(main())
"""
