"""`fairlead schedules`: list, show, add, change, pause, resume, run and remove recurring schedules."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar, cast

import typer

from fairlead.cli import schedules_output as printing
from fairlead.cli.enqueue import CallbackOption, PriorityOption, RetryOption, parse_duration, read_payload
from fairlead.cli.filters import Actor
from fairlead.cli.loading import Database, Json, load_app, opened, settings_for
from fairlead.client.client import Client
from fairlead.client.schedules import Schedules
from fairlead.config import Settings
from fairlead.core.schedule.schedules import CatchUp, Overlap
from fairlead.handlers.recurring import Terms
from fairlead.handlers.spec import Registry

Result = TypeVar("Result")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.")]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Its time zone, like Europe/Berlin; else UTC.")]
Tenant = Annotated[str | None, typer.Option(help="Whose jobs it makes.")]
Pool = Annotated[str | None, typer.Option(help="The pool that runs them, instead of the type's own.")]
Overlaps = Annotated[Overlap | None, typer.Option(help="What a fire does while an earlier job has not ended.")]
CatchUps = Annotated[CatchUp | None, typer.Option(help="What becomes of fires that nobody made in time.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why, for the audit.")]
AppPath = Annotated[
    str | None, typer.Option("--app", metavar="MODULE:APP", help="Check the arguments with this app's handler.")
]


def _span(help_text: str) -> Any:
    return typer.Option(parser=parse_duration, metavar="DURATION", help=help_text)


Window = Annotated[float | None, _span("How old a fire may be that is caught up; else 1d.")]
StartWithin = Annotated[float | None, _span("How late a job may start before it expires.")]
Timeout = Annotated[float | None, _span("The longest that one attempt may take.")]


class CommandOwner:
    """What `app.schedules` needs, for a command that has a client and perhaps the code of an app."""

    def __init__(self, client: Client, settings: Settings, registry: Registry) -> None:
        self._client = client
        self.settings = settings
        self.registry = registry

    async def client(self) -> Client:
        """The client of this command."""
        return self._client


def list_schedules(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many schedules a page has.")] = 100,
    after: Annotated[str | None, typer.Option(metavar="NAME", help="Only names after this one.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only those whose jobs are this tenant's.")] = None,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List schedules by name, with the next fire and what became of the last."""
    printing.listing(_run(database, lambda schedules: schedules.list(limit, after, tenant)), as_json)


def show(
    name: Name,
    upcoming: Annotated[int, typer.Option(min=0, max=1000, help="How many next fires.")] = 5,
    past: Annotated[int, typer.Option(min=0, max=100, help="How many of its last fires.")] = 10,
    database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Show a schedule with its next fires and what became of its last ones."""
    printing.schedule(_run(database, lambda schedules: schedules.get(name, upcoming, past)), as_json)


def add(
    name: Name,
    expression: Annotated[
        str, typer.Argument(metavar="WHEN", help="'0 9 * * 1-5', with seconds '0 0 9 * * 1-5', @daily, 'every 30s'.")
    ],
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")],
    payload: Annotated[
        str, typer.Argument(metavar="PAYLOAD", help="The arguments as a JSON object; - reads it from standard input.")
    ] = "{}",
    app_path: AppPath = None, tz: Zone = None, tenant: Tenant = None, priority: PriorityOption = None,
    pool: Pool = None, timeout: Timeout = None, overlap: Overlaps = None, catch_up: CatchUps = None,
    catch_up_window: Window = None, start_within: StartWithin = None, retry: RetryOption = None,
    callback: CallbackOption = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Add a schedule, which fires from now on.

    Without --app the type must be registered in the database, as workers do when they start.
    """
    arguments = read_payload(payload)
    terms = _terms(
        tz=tz, tenant=tenant, priority=priority, pool=pool, timeout=timeout, overlap=overlap, catch_up=catch_up,
        catch_up_window=catch_up_window, start_within=start_within, retry=retry, callback=callback,
    )  # fmt: skip
    made = _run(
        database,
        lambda schedules: schedules.add(name, expression, type_name, arguments, actor=actor, reason=reason, **terms),
        app_path,
    )
    printing.done(made, "added", as_json)


def change(
    name: Name,
    expression: Annotated[str | None, typer.Option("--when", metavar="WHEN", help="When it fires.")] = None,
    payload: Annotated[str | None, typer.Option(metavar="PAYLOAD", help="Its arguments as JSON; - reads them.")] = None,
    app_path: AppPath = None, tz: Zone = None, tenant: Tenant = None, priority: PriorityOption = None,
    pool: Pool = None, timeout: Timeout = None, overlap: Overlaps = None, catch_up: CatchUps = None,
    catch_up_window: Window = None, start_within: StartWithin = None, retry: RetryOption = None,
    callback: CallbackOption = None,
    actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Change what is given and keep the rest, with the history of fires."""
    terms = _terms(
        tz=tz, tenant=tenant, priority=priority, pool=pool, timeout=timeout, overlap=overlap, catch_up=catch_up,
        catch_up_window=catch_up_window, start_within=start_within, retry=retry, callback=callback,
    )  # fmt: skip
    if not terms and expression is None and payload is None:
        raise typer.BadParameter("say what to change, for example --when '@hourly'")
    arguments = None if payload is None else read_payload(payload)
    made = _run(
        database,
        lambda schedules: schedules.change(
            name, expression=expression, payload=arguments, actor=actor, reason=reason, **terms
        ),
        app_path,
    )
    printing.done(made, "changed", as_json)


def pause(
    name: Name, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False
) -> None:
    """Let a schedule fire no more until it is resumed; a deploy does not resume it."""
    _act(name, "paused", lambda schedules: schedules.pause(name, actor=actor, reason=reason), database, as_json)


def resume(
    name: Name, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False
) -> None:
    """Let a paused schedule fire again; what fell into the pause is not caught up."""
    _act(name, "resumed", lambda schedules: schedules.resume(name, actor=actor, reason=reason), database, as_json)


def run_now(
    name: Name, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False
) -> None:
    """Make a job of a schedule now, whatever its timetable, its policies and its state say."""
    job = _run(database, lambda schedules: schedules.run_now(name, actor=actor, reason=reason))
    printing.ran(name, job.id, as_json)


def remove(
    name: Name, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False
) -> None:
    """Remove a schedule and the record of its fires; its jobs stay."""
    _run(database, lambda schedules: schedules.remove(name, actor=actor, reason=reason))
    printing.removed(name, as_json)


def _act(
    name: str, verb: str, act: Callable[[Schedules], Awaitable[None]], database: str | None, as_json: bool
) -> None:
    async def act_and_read(schedules: Schedules) -> Any:
        await act(schedules)
        return await schedules.get(name)

    printing.done(_run(database, act_and_read), verb, as_json)


def _run(database: str | None, act: Callable[[Schedules], Awaitable[Result]], app_path: str | None = None) -> Result:
    app = load_app(app_path) if app_path else None
    settings = settings_for(database, app)

    async def run() -> Result:
        async with opened(settings) as client:
            return await act(Schedules(CommandOwner(client, settings, app.registry if app else Registry())))

    return asyncio.run(run())


def _terms(**given: Any) -> Terms:
    """The terms that were given."""
    return cast(Terms, {name: value for name, value in given.items() if value is not None})
