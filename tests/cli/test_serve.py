"""`fairlead serve` and the API of `fairlead up`, as processes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Shop

PROGRAM = """
from fairlead import App
app = App()

@app.handler("greet")
async def greet(name: str) -> str:
    return f"hello {name}"
"""
PATIENCE = 60.0


@contextmanager
def started(folder: Path, url: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A command on a program in this folder, ended at the end; and what it says."""
    (folder / "greeter.py").write_text(PROGRAM, encoding="utf-8")
    said = folder / "said.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *arguments],
            cwd=folder,
            env={**os.environ, "FAIRLEAD_DATABASE_URL": url},
            stderr=log,
        )
    try:
        yield process, said
    finally:
        process.kill()
        process.wait()


def until_said(process: subprocess.Popen[bytes], said: Path, pattern: str) -> re.Match[str]:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = re.search(pattern, said.read_text(encoding="utf-8"))
        if found:
            return found
        assert process.poll() is None, said.read_text(encoding="utf-8")
        time.sleep(0.05)
    raise AssertionError(said.read_text(encoding="utf-8"))


def ask(address: str, key: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=PATIENCE) as answer:
        return json.load(answer)


def test_serve_answers_and_stops(run: Run, sqlite_url: str, tmp_path: Path) -> None:
    key = run("keys", "create", "k", "--scope", "admin", "--database", sqlite_url).stdout.strip()
    with started(tmp_path, sqlite_url, "serve", "greeter:app", "--port", "0") as (process, said):
        address = until_said(process, said, r"serves (http://127\.0\.0\.1:\d+)/v1")[1]
        made = ask(f"{address}/v1/jobs", key, {"type": "greet", "payload": {"name": "Ada"}})
        assert ask(f"{address}/v1/jobs/{made['id']}", key)["state"] == "ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, said.read_text(encoding="utf-8")


def test_up_serves_with_a_key_that_ends_with_it(sqlite_url: str, tmp_path: Path, run: Run) -> None:
    with started(tmp_path, sqlite_url, "up", "greeter:app", "--port", "0") as (process, said):
        found = until_said(process, said, r'"api": "(http://\S+)/v1", "key": "(flk_\w+)"')
        address, key = found[1], found[2]
        made = ask(f"{address}/v1/jobs", key, {"type": "greet", "payload": {"name": "Ada"}})
        assert ask(f"{address}/v1/jobs/{made['id']}/wait?timeout=60", key)["result"] == "hello Ada"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, said.read_text(encoding="utf-8")
    (kept,) = json.loads(run("keys", "list", "--json", "--database", sqlite_url).stdout)["keys"]
    assert (kept["name"], kept["live"]) == ("fairlead up", False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.com"])
def test_an_open_address_wants_encryption(run: Run, shop: Shop, tmp_path: Path, host: str) -> None:
    (tmp_path / "greeter.py").write_text(PROGRAM, encoding="utf-8")
    result = run("serve", "greeter:app", "--host", host)
    assert result.exit_code == 1
    assert "--behind-proxy" in result.stderr


@pytest.mark.parametrize("network", ["0.0.0.0/0", "everybody", "10.1.2.3/8"])
def test_a_proxy_that_cannot_be_trusted_is_refused(run: Run, shop: Shop, tmp_path: Path, network: str) -> None:
    (tmp_path / "greeter.py").write_text(PROGRAM, encoding="utf-8")
    result = run("serve", "greeter:app", "--port", "0", "--trusted-proxy", network)
    assert result.exit_code == 1
    assert network in result.stderr


def test_serve_believes_the_proxies_that_it_is_told_of(run: Run, sqlite_url: str, tmp_path: Path) -> None:
    key = run("keys", "create", "k", "--scope", "read", "--database", sqlite_url).stdout.strip()
    more = ("--trusted-proxy", "10.1.0.0/16", "--trusted-proxy", "127.0.0.1")
    with started(tmp_path, sqlite_url, "serve", "greeter:app", "--port", "0", *more) as (process, said):
        address = until_said(process, said, r"serves (http://127\.0\.0\.1:\d+)/v1")[1]
        headers = {"Content-Type": "application/json", "X-Fairlead-Dashboard": "1", "X-Forwarded-Proto": "https"}
        body = json.dumps({"key": key}).encode()
        request = urllib.request.Request(f"{address}/dashboard/session", body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert "Secure" in answer.headers["Set-Cookie"]


def test_what_is_missing_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greeter.py").write_text(PROGRAM, encoding="utf-8")
    for name in list(sys.modules):
        if name.startswith(("fairlead.api.serving", "uvicorn")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("fairlead.api.serving", None, raising=False)
    monkeypatch.delattr("fairlead.api.serving", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("serve", "greeter:app")
    assert result.exit_code == 1
    assert "fairlead[server]" in result.stderr
