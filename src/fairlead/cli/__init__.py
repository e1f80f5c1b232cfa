"""The command line: `fairlead --help`."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairlead.cli import (
    alerts,
    audit,
    backpressure,
    bench,
    breakers,
    budgets,
    callbacks,
    cancel,
    change_many,
    dead_letters,
    enqueue,
    jobs,
    keys,
    limits,
    operate,
    output,
    pauses,
    pools,
    quarantine,
    retry_preview,
    run,
    schedules,
    serve,
    simulate,
    tenants,
    types,
    waiting,
)
from fairlead.errors import FairleadError
from fairlead.version import __version__

# Typer exports one kind of usage error; its base is all of them.
UsageError: type[Any] = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """The one place where errors of commands become messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        as_json = _wants_json(ctx.obj)
        try:
            _require_text(ctx.obj)
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(output.INTERRUPTED_EXIT) from None
        except FairleadError as error:
            output.report_error(error.code, str(error), as_json, getattr(error, "retry_after", None))
            raise typer.Exit(output.exit_code(error)) from error
        except UsageError as error:
            output.report_error(output.USAGE_CODE, _usage(error), as_json)
            raise typer.Exit(output.USAGE_EXIT) from error

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments, for an error may come before a command has read its own."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="fairlead",
    cls=Commands,
    help="Durable jobs for Python, shared fairly between tenants.",
    epilog=output.EXIT_CODES_HELP,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
job_commands = typer.Typer(help="Look at jobs, cancel and change them.", invoke_without_command=True)
tenant_commands = typer.Typer(help="Look at tenants, and set their tiers and weights.", invoke_without_command=True)
pool_commands = typer.Typer(help="Look at pools, and change them.", invoke_without_command=True)
type_commands = typer.Typer(help="Look at job types and how long they run.", invoke_without_command=True)
dead_letter_commands = typer.Typer(help="Look at dead letters, mend and replay them.", invoke_without_command=True)
key_commands = typer.Typer(help="Make, list and revoke keys of the HTTP API.", invoke_without_command=True)

limit_commands = typer.Typer(help="Limit what runs at once, over all workers.", invoke_without_command=True)
backpressure_commands = typer.Typer(help="Bound what is submitted.", invoke_without_command=True)
breaker_commands = typer.Typer(help="Look at circuit breakers, open and close them.", invoke_without_command=True)
quarantine_commands = typer.Typer(help="Job types that wait until somebody has a look.", invoke_without_command=True)
budget_commands = typer.Typer(help="How many retries tenants may have.", invoke_without_command=True)
callback_commands = typer.Typer(help="Endpoints that are told how jobs ended.", invoke_without_command=True)
schedule_commands = typer.Typer(help="Look at recurring schedules and change them.", invoke_without_command=True)


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
    _help_without_command(context)


@job_commands.callback()
def start_jobs(context: typer.Context) -> None:
    """Look at jobs and cancel them."""
    _help_without_command(context)


@tenant_commands.callback()
def start_tenants(context: typer.Context) -> None:
    """Look at tenants, and set their tiers and weights."""
    _help_without_command(context)


@pool_commands.callback()
def start_pools(context: typer.Context) -> None:
    """Look at pools, and change them."""
    _help_without_command(context)


@type_commands.callback()
def start_types(context: typer.Context) -> None:
    """Look at job types and how long they run."""
    _help_without_command(context)


@dead_letter_commands.callback()
def start_dead_letters(context: typer.Context) -> None:
    """Look at dead letters, mend and replay them."""
    _help_without_command(context)


@key_commands.callback()
def start_keys(context: typer.Context) -> None:
    """Make, list and revoke keys of the HTTP API."""
    _help_without_command(context)


@limit_commands.callback()
def start_limits(context: typer.Context) -> None:
    """Limit what runs at once, over all workers."""
    _help_without_command(context)


@backpressure_commands.callback()
def start_backpressure(context: typer.Context) -> None:
    """Bound what is submitted."""
    _help_without_command(context)


@breaker_commands.callback()
def start_breakers(context: typer.Context) -> None:
    """Look at circuit breakers, open and close them."""
    _help_without_command(context)


@quarantine_commands.callback()
def start_quarantine(context: typer.Context) -> None:
    """Job types that wait until somebody has a look."""
    _help_without_command(context)


@budget_commands.callback()
def start_budgets(context: typer.Context) -> None:
    """How many retries tenants may have."""
    _help_without_command(context)


@callback_commands.callback()
def start_callbacks(context: typer.Context) -> None:
    """Endpoints that are told how jobs ended."""
    _help_without_command(context)


@schedule_commands.callback()
def start_schedules(context: typer.Context) -> None:
    """Look at recurring schedules and change them."""
    _help_without_command(context)


app.command()(run.up)
app.command()(run.worker)
app.command()(run.scheduler)
app.command()(serve.serve)
app.command()(enqueue.enqueue)
app.add_typer(job_commands, name="jobs")
job_commands.command("list")(jobs.list_jobs)
job_commands.command("show")(jobs.show_job)
job_commands.command("cancel")(cancel.cancel_jobs)
job_commands.command("run-now")(change_many.run_now)
job_commands.command("priority")(change_many.set_priority)
job_commands.command()(waiting.explain)
job_commands.command()(waiting.retry)
job_commands.command()(waiting.change)
app.add_typer(dead_letter_commands, name="dlq")
dead_letter_commands.command("list")(dead_letters.list_dead)
dead_letter_commands.command()(dead_letters.groups)
dead_letter_commands.command()(dead_letters.show)
dead_letter_commands.command()(dead_letters.edit)
dead_letter_commands.command()(dead_letters.replay)
dead_letter_commands.command()(dead_letters.cancel)
dead_letter_commands.command()(dead_letters.purge)
app.add_typer(tenant_commands, name="tenants")
tenant_commands.command("list")(tenants.list_tenants)
tenant_commands.command("show")(tenants.show_tenant)
tenant_commands.command("add")(tenants.add_tenant)
tenant_commands.command("set")(tenants.set_tenant)
tenant_commands.command("remove")(tenants.remove_tenant)
tenant_commands.command("default")(tenants.default_tier)
app.command()(tenants.shares)
app.add_typer(pool_commands, name="pools")
pool_commands.command("list")(pools.list_pools)
pool_commands.command("set")(pools.set_pool)
pool_commands.command("reset")(pools.reset_pool)
app.add_typer(type_commands, name="types")
type_commands.command("list")(types.list_types)
type_commands.command("show")(types.show_type)
app.command()(types.waits)
app.command()(alerts.alerts)
app.add_typer(key_commands, name="keys")
key_commands.command()(keys.create)
key_commands.command("list")(keys.list_all)
key_commands.command()(keys.revoke)
app.add_typer(schedule_commands, name="schedules")
schedule_commands.command("list")(schedules.list_schedules)
schedule_commands.command()(schedules.show)
schedule_commands.command()(schedules.add)
schedule_commands.command()(schedules.change)
schedule_commands.command()(schedules.pause)
schedule_commands.command()(schedules.resume)
schedule_commands.command("run-now")(schedules.run_now)
schedule_commands.command()(schedules.remove)
app.command()(pauses.pause)
app.command()(pauses.resume)
app.command()(pauses.paused)
app.add_typer(limit_commands, name="limits")
limit_commands.command("list")(limits.list_limits)
limit_commands.command("show")(limits.show_limit)
limit_commands.command("set")(limits.set_limit)
limit_commands.command("remove")(limits.remove_limit)
app.add_typer(backpressure_commands, name="backpressure")
backpressure_commands.command("list")(backpressure.list_bounds)
backpressure_commands.command()(backpressure.depth)
backpressure_commands.command()(backpressure.rate)
backpressure_commands.command("overload")(backpressure.set_overload)
app.add_typer(breaker_commands, name="breakers")
breaker_commands.command("list")(breakers.list_breakers)
breaker_commands.command("show")(breakers.show_breaker)
breaker_commands.command("open")(breakers.open_breaker)
breaker_commands.command("close")(breakers.close_breaker)
app.add_typer(quarantine_commands, name="quarantine")
quarantine_commands.command("list")(quarantine.list_quarantined)
quarantine_commands.command()(quarantine.put)
quarantine_commands.command()(quarantine.release)
app.add_typer(budget_commands, name="budgets")
budget_commands.command("list")(budgets.list_budgets)
budget_commands.command("set")(budgets.set_budget)
budget_commands.command("reset")(budgets.reset_budget)
app.add_typer(callback_commands, name="callbacks")
callback_commands.command("list")(callbacks.list_callbacks)
callback_commands.command()(callbacks.add)
callback_commands.command()(callbacks.change)
callback_commands.command()(callbacks.rotate)
callback_commands.command()(callbacks.enable)
callback_commands.command()(callbacks.disable)
callback_commands.command()(callbacks.remove)
callback_commands.command("test")(callbacks.send_test)
callback_commands.command("log")(callbacks.log)
callback_commands.command()(callbacks.redeliver)
app.command()(audit.audit)
app.command()(retry_preview.retry_preview)
app.command()(operate.workers)
app.command("drain-worker")(operate.direct_worker)
app.command()(operate.migrate)
app.command()(operate.doctor)
app.command()(simulate.simulate)
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run the command line."""
    app(prog_name="fairlead")


def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
    return f"{error.format_message()} See `{command} --help`."
