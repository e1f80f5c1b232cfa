"""`make test`: a test that passes only the second time fails the run, unless unstable tests are collected."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "run_tests.sh"

PASSING = "def test_passes() -> None:\n    assert True\n"
BROKEN = "def test_is_broken() -> None:\n    assert False\n"
UNSTABLE = """
from pathlib import Path


def test_passes_the_second_time() -> None:
    seen = Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""


def run(folder: Path, *sources: str, collect: bool = False) -> tuple[int, str, str]:
    """The script's exit code and output in a folder with these tests, and the tests that it collected."""
    for number, source in enumerate(sources):
        (folder / f"test_planted_{number}.py").write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment.pop("UNSTABLE_TESTS_FILE", None)
    collected = folder / "unstable"
    if collect:
        environment["UNSTABLE_TESTS_FILE"] = str(collected)
    done = subprocess.run(
        [SCRIPT, sys.executable], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, collected.read_text() if collected.exists() else ""


def test_passing_tests_pass(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, PASSING)
    assert code == 0
    assert "UNSTABLE" not in output


def test_unstable_test_fails_the_run_and_is_named_last(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, PASSING, UNSTABLE)
    assert code == 1
    assert output.splitlines()[-1].strip() == "test_planted_1.py::test_passes_the_second_time"


def test_unstable_test_is_collected_and_forgiven(tmp_path: Path) -> None:
    code, output, collected = run(tmp_path, UNSTABLE, collect=True)
    assert code == 0
    assert "UNSTABLE" in output
    assert collected == "test_planted_0.py::test_passes_the_second_time\n"


@pytest.mark.parametrize("collect", [True, False])
def test_broken_test_fails_the_run_whether_or_not_another_is_unstable(tmp_path: Path, collect: bool) -> None:
    code, _, collected = run(tmp_path, BROKEN, UNSTABLE, collect=collect)
    assert (code, collected) == (1, "")
