"""The commands of docs/http.md run, in order, against a server with a worker."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead import App
from tests.support.serving import served

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "http.md"


def test_the_commands_run(sqlite_url: str, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    app = App(sqlite_url)

    @app.handler("greet")
    async def greet(name: str) -> str:
        return f"hello {name}"

    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = "set -euo pipefail\n" + "\necho\n".join(blocks)
    with served(app, worker=True) as server:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "ADDRESS": server.address, "KEY": server.key, "no_proxy": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(blocks) >= 6
    for expected in ('"priority":"high"', "event: result", "hello Ada", "SCHEDULED", '"status":422', '"key":"flk_'):
        assert expected in done.stdout, expected
