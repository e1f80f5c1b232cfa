"""An app with a few job types, its jobs in a database, and a way to run commands on them."""

import asyncio
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner, Result

from fairlead import App, Job, Retry
from fairlead.cli.program import app as commands

Run = Callable[..., Result]

HOSTILE = "[bold red]x[/] [link=http://evil]y[/link] \x1b]0;title\x07 \x1b[2J \u202e \x9b31m :smile:"


class Shop:
    """An app on a database; each verb opens and closes it, since a command has its own event loop."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.app = App(url)

        @self.app.handler("greet", pool="medium", version=3, retry=Retry(attempts=4, first="2s"))
        async def greet(name: str, times: int = 1) -> str:
            return f"hello {name}" * times

        @self.app.handler("fail", retry=Retry(attempts=1))
        async def fail(text: str) -> None:
            raise ValueError(text)

        self.greet, self.fail = greet, fail

    def register(self) -> None:
        """Register the types, as a worker does."""

        async def register() -> None:
            async with self.app:
                registry = self.app.registry
                await (await self.app.store()).types.register([registry[name].job_type() for name in registry])

        asyncio.run(register())

    def enqueue(self, handler: Any, calls: Sequence[dict[str, Any]], **options: Any) -> list[str]:
        """Submit jobs; returns their ids."""

        async def enqueue() -> list[str]:
            async with self.app:
                jobs = [await handler.options(**options).enqueue(**call) for call in calls]
                return [job.id for job in jobs]

        return asyncio.run(enqueue())

    def work(self, *handler_and_call: tuple[Any, dict[str, Any]]) -> list[str]:
        """Submit jobs and run them to their end; returns their ids."""

        async def work() -> list[str]:
            async with self.app, self.app.worker(pools=("short", "medium")):
                jobs: list[Job] = [await handler.enqueue(**call) for handler, call in handler_and_call]
                client = await self.app.client()
                return [(await client.wait(job.id, 20)).id for job in jobs]

        return asyncio.run(work())


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fairlead.toml and no environment of the developer; modules loaded by a test are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("FAIRLEAD_DATABASE_URL", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


# Making all commands from their functions takes six times as long as most of them.
made_once = functools.cache(typer.main.get_command)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line; an exception that is not translated fails the test."""
    monkeypatch.setattr("typer.testing._get_command", made_once)

    def run(*arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(commands, list(arguments), catch_exceptions=False, **more)

    return run


@pytest.fixture
def shop(sqlite_url: str) -> Shop:
    """The app on an empty SQLite file, with its types registered."""
    made = Shop(sqlite_url)
    made.register()
    return made


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
def any_shop(request: pytest.FixtureRequest) -> Shop:
    """The app on an empty database of each kind."""
    made = Shop(str(request.getfixturevalue(request.param)))
    made.register()
    return made
