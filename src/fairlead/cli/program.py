"""The `fairlead` program: which module has which command, and how errors become messages and exit codes.

The module of a command is imported when that command is called; it has a Typer app named `app`, which is the command,
or the group of that name, or has a command of that name.
"""

from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from fairlead.errors import FairleadError
from fairlead.version import __version__

COMMANDS = {
    "up": "run",
    "worker": "run",
    "scheduler": "run",
    "serve": "serve",
    "migrate": "migrate",
    "status": "status",
    "enqueue": "enqueue",
    "jobs": "jobs",
    "schedules": "schedules",
    "callbacks": "callbacks",
    "types": "types",
    "tenants": "tenants",
    "workers": "workers",
    "pause": "pause",
    "resume": "pause",
    "settings": "settings",
    "keys": "keys",
    "audit": "audit",
    "simulate": "simulate",
    "bench": "bench",
}

# Typer exports one kind of usage error; its base is all of them.
UsageError: type[Any] = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """The commands by name, and the one place where their errors become messages and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, as `--help` lists them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, from its module."""
        if cmd_name not in COMMANDS:
            return None
        found = typer.main.get_command(import_module(f"fairlead.cli.{COMMANDS[cmd_name]}").app)
        command = getattr(found, "commands", {}).get(cmd_name, found)
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            _require_text(ctx.obj)
            return super().invoke(ctx)
        except (KeyboardInterrupt, FairleadError, UsageError) as error:
            raise typer.Exit(_report(error, _wants_json(ctx.obj))) from error

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments, for an error may come before a command has read its own."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)


EXIT_CODES_HELP = (
    "Exit codes: 0 done; 1 refused or failed; 2 wrong usage; 3 no such job, job type, schedule, callback, key, worker "
    "or setting; 4 the database cannot be reached; 5 the database has another schema; 130 stopped with Ctrl-C."
)

app = typer.Typer(
    name="fairlead",
    cls=Commands,
    help="Durable jobs for Python, shared fairly between tenants.",
    epilog=EXIT_CODES_HELP,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairlead {__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Durable jobs for Python, shared fairly between tenants."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _report(error: BaseException, as_json: bool) -> int:
    """Print an error; returns the exit code."""
    from fairlead.cli import output

    if isinstance(error, KeyboardInterrupt):
        return output.INTERRUPTED_EXIT
    if isinstance(error, FairleadError):
        output.report_error(error.code, str(error), as_json, getattr(error, "retry_after", None))
        return output.exit_code(error)
    output.report_error(output.USAGE_CODE, _usage(error), as_json)
    return output.USAGE_EXIT


def _wants_json(arguments: list[str]) -> bool:
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def _require_text(arguments: list[str]) -> None:
    """No database takes bytes that are not UTF-8, which Python hands over as halves of surrogate pairs."""
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise typer.BadParameter(f"{argument!r} is not valid UTF-8")


def _usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "fairlead"
    return f"{error.format_message().replace('Value error, ', '')} See `{command} --help`."
