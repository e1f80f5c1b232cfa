"""Processes that perform parts of a benchmark."""

import sys
from pathlib import Path

import pytest

from fairlead.bench.hands import opened_hands

PROGRAM = """
from fairlead.bench.hands import serve

serve(lambda numbers: [0.123456789] * numbers[0])
"""


async def test_an_answer_may_tell_of_every_job_of_a_long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talkative.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path), *filter(None, sys.path)]))
    async with opened_hands("talkative", 1) as (hand,):
        assert len(await hand.ask([100_000])) == 100_000
