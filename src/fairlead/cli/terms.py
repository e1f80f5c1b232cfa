"""What `fairlead up` and `fairlead worker` are told about their processes; imports nothing that takes long."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from fairlead.core.names import check_name
from fairlead.telemetry.tracebacks import Tracebacks

AppPath = Annotated[str, typer.Argument(metavar="MODULE:APP", help="Where your App is, for example shop.jobs:app.")]

FORMATS = {"auto": None, "json": True, "text": False}


@dataclass(frozen=True, slots=True)
class Workers:
    """What the worker processes of a command are."""

    path: str
    pools: tuple[str, ...]
    concurrency: int
    processes: int
    reserve: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    log_jobs: bool = False
    log_format: str = "auto"
    tracebacks: Tracebacks = Tracebacks.LAST

    @property
    def as_json(self) -> bool | None:
        """Whether the log is JSON; None where the terminal decides."""
        return FORMATS[self.log_format]

    def command(self) -> list[str]:
        """How the supervisor starts a worker process."""
        command = [sys.executable, "-m", "fairlead.cli.child", self.path, str(self.concurrency), ",".join(self.pools)]
        command += [f"--reserve={check_name('tenant', tenant)}" for tenant in self.reserve]
        command += [f"--include={module}" for module in self.include]
        command += [f"--tracebacks={self.tracebacks.value}", f"--log-format={self.log_format}"]
        return [*command, "--log-jobs"] if self.log_jobs else command
