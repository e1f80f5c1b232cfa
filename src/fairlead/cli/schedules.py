"""`fairlead schedules`: recurring schedules; `fairlead pause schedule` and `resume schedule` stop and start them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar, cast
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from fairlead.app_schedules import Schedules
from fairlead.cli.loading import load_app, on_client, settings_for
from fairlead.cli.options import (
    Actor,
    AppOption,
    CallbackOption,
    Database,
    Json,
    PageSize,
    PriorityOption,
    RetryOption,
    duration,
    group,
    read_payload,
)
from fairlead.cli.output import block, cell, listing, moment, plain, show, show_document, state_cell
from fairlead.client.client import Client
from fairlead.config import Settings
from fairlead.core.durations import humanize
from fairlead.core.schedule.schedules import CatchUp, FireOutcome, Overlap, PastFire, ScheduleRecord, ScheduleState
from fairlead.errors import ScheduleNotFound
from fairlead.handlers.recurring import Terms
from fairlead.handlers.spec import Registry

Result = TypeVar("Result")
COLOURS = {ScheduleState.ACTIVE: "green", ScheduleState.PAUSED: "yellow", ScheduleState.RETIRED: "dim"}
OUTCOMES = {FireOutcome.FIRED: "green", FireOutcome.SKIPPED: "yellow", FireOutcome.MISSED: "bold red"}

app = group("Look at recurring schedules, set and remove them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.")]
When = Annotated[
    str | None,
    typer.Option("--when", metavar="WHEN", help="'0 9 * * 1-5', with seconds '0 0 9 * * 1-5', @daily, 'every 30s'."),
]
TypeName = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="The job type of a new schedule.")]
Payload = Annotated[str | None, typer.Option(metavar="JSON", help="The arguments as a JSON object; - reads them.")]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Its time zone, like Europe/Berlin; else UTC.")]
Tenant = Annotated[str | None, typer.Option(help="Whose jobs it makes.")]
Pool = Annotated[str | None, typer.Option(help="The pool that runs them, instead of the type's own.")]
Overlaps = Annotated[Overlap | None, typer.Option(help="What a fire does while an earlier job has not ended.")]
CatchUps = Annotated[CatchUp | None, typer.Option(help="What becomes of fires that nobody made in time.")]
Window = Annotated[float | None, duration("How old a fire may be that is caught up; else 1d.")]
StartWithin = Annotated[float | None, duration("How late a job may start before it expires.")]
Timeout = Annotated[float | None, duration("The longest that one attempt may take.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why, for the audit.")]
After = Annotated[str | None, typer.Option("--cursor", metavar="NAME", help="Only names after this one.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only those whose jobs are this tenant's.")]
Upcoming = Annotated[int, typer.Option(min=0, max=1000, help="How many next fires.")]
Past = Annotated[int, typer.Option(min=0, max=100, help="How many of its last fires.")]


class CommandOwner:
    """What `app.schedules` needs, for a command that has a client and perhaps the code of an app."""

    def __init__(self, client: Client, settings: Settings, registry: Registry) -> None:
        self._client = client
        self.settings = settings
        self.registry = registry

    async def client(self) -> Client:
        """The client of this command."""
        return self._client


@app.command("list")
def list_schedules(
    limit: PageSize = 100, cursor: After = None, tenant: OfTenant = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """List schedules by name, with the next fire and what became of the last."""
    found = _run(database, lambda schedules: schedules.list(limit, cursor, tenant))
    if as_json:
        from fairlead.documents.schedules import SchedulePage

        following = found[-1].name if len(found) == limit else None
        show_document(SchedulePage(schedules=[_document(record) for record in found], cursor=following))
        return
    listing(
        found,
        {
            "name": lambda item: item.name,
            "when": lambda item: item.expression,
            "tz": lambda item: item.tz,
            "type": lambda item: item.type,
            "tenant": lambda item: item.tenant,
            "state": lambda item: cell(item.state.value, COLOURS[item.state]),
            "next fire": lambda item: next(iter(item.next_fires), None),
            "last fire": lambda item: item.fires[0].at if item.fires else None,
            "result": lambda item: _result(item.fires[0] if item.fires else None),
            "app": lambda item: item.app,
        },
        none="no schedules",
        cut=("tenant", "app"),
    )


@app.command("show")
def show_schedule(
    name: Name, upcoming: Upcoming = 5, past: Past = 10, database: Database = None, as_json: Json = False
) -> None:
    """Show a schedule with its next fires and what became of its last ones."""
    record = _run(database, lambda schedules: schedules.get(name, upcoming, past))
    if as_json:
        show_document(_document(record))
    else:
        _print(record)


@app.command("set")
def set_schedule(
    name: Name, expression: When = None, type_name: TypeName = None, payload: Payload = None,
    app_path: AppOption = None, tz: Zone = None, tenant: Tenant = None, priority: PriorityOption = None,
    pool: Pool = None, timeout: Timeout = None, overlap: Overlaps = None, catch_up: CatchUps = None,
    catch_up_window: Window = None, start_within: StartWithin = None, retry: RetryOption = None,
    callback: CallbackOption = None, actor: Actor = None, reason: Why = None, database: Database = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Add a schedule with --when and --type, which fires from now on; or change what is given and keep the rest.

    Without --app the type must be registered in the database, as workers do when they start.
    """
    terms = _terms(
        tz=tz, tenant=tenant, priority=priority, pool=pool, timeout=timeout, overlap=overlap, catch_up=catch_up,
        catch_up_window=catch_up_window, start_within=start_within, retry=retry, callback=callback,
    )  # fmt: skip
    if not terms and expression is None and payload is None and type_name is None:
        raise typer.BadParameter("say what to set, for example --when '@hourly' --type report")
    arguments = None if payload is None else read_payload(payload)

    async def act(schedules: Schedules) -> ScheduleRecord:
        try:
            await schedules.get(name)
        except ScheduleNotFound:
            if expression is None or type_name is None:
                raise
            return await schedules.add(
                name, expression, type_name, arguments or {}, actor=actor, reason=reason, **terms
            )
        if type_name is not None:
            raise typer.BadParameter(f"{name} is there; the type of a schedule is not changed, remove it first")
        return await schedules.change(
            name, expression=expression, payload=arguments, actor=actor, reason=reason, **terms
        )

    record = _run(database, act, app_path)
    if as_json:
        show_document(_document(record))
        return
    following = f"next fire {moment(record.next_fires[0])}" if record.next_fires else f"it is {record.state.value}"
    show(f"{plain(record.name)} is set; {following}", wrap=False)


@app.command("run-now")
def run_now(
    name: Name, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False
) -> None:
    """Make a job of a schedule now, whatever its timetable, its policies and its state say."""
    job = _run(database, lambda schedules: schedules.run_now(name, actor=actor, reason=reason))
    if as_json:
        from fairlead.documents.schedules import MadeJob

        show_document(MadeJob(schedule=name, job_id=job.id))
    else:
        show(f"made job {job.id} of {plain(name)}", wrap=False)


@app.command()
def remove(
    name: Name, actor: Actor = None, reason: Why = None, database: Database = None, as_json: Json = False
) -> None:
    """Remove a schedule and the record of its fires; its jobs stay."""
    _run(database, lambda schedules: schedules.remove(name, actor=actor, reason=reason))
    if as_json:
        show_document({"name": name, "removed": True})
    else:
        show(f"{plain(name)} is removed", wrap=False)


def _run(database: str | None, act: Callable[[Schedules], Awaitable[Result]], app_path: str | None = None) -> Result:
    shop = load_app(app_path) if app_path else None
    settings, registry = settings_for(database, shop), shop.registry if shop else Registry()
    return on_client(database, lambda client: act(Schedules(CommandOwner(client, settings, registry))), shop)


def _terms(**given: Any) -> Terms:
    """The terms that were given."""
    return cast(Terms, {name: value for name, value in given.items() if value is not None})


def _document(record: ScheduleRecord) -> Any:
    from fairlead.documents.schedules import ScheduleDocument

    return ScheduleDocument.of(record)


def _print(record: ScheduleRecord) -> None:
    for name, value in _facts(record):
        show(Text(f"{name:<13}", "dim"), block(value), wrap=False)
    if record.next_fires:
        show("\nnext fires")
        for at in record.next_fires:
            show(f"  {moment(at)}  {plain(at.astimezone(ZoneInfo(record.tz)).strftime('%a %Y-%m-%d %H:%M:%S %Z'))}")
    if record.fires:
        show("\nlast fires")
        _print_fires(record.fires)


def _facts(record: ScheduleRecord) -> list[tuple[str, object]]:
    window = f" (within {humanize(record.catch_up_window)})" if record.catch_up.value != "none" else ""
    facts: list[tuple[str, object]] = [
        ("name", record.name),
        ("state", record.state.value),
        ("when", f"{record.expression} ({record.tz})"),
        ("type", record.type),
        ("tenant", record.tenant),
        ("pool", record.pool),
        ("priority", record.priority.word),
        ("payload", record.payload),
        ("overlap", record.overlap.value),
        ("catch up", f"{record.catch_up.value}{window}"),
        ("declared by", record.app or "nobody's code"),
    ]
    if record.start_within is not None:
        facts.append(("start within", humanize(record.start_within)))
    if record.options is not None:
        facts.append(("options", record.options))
    return facts


def _print_fires(fires: Sequence[PastFire]) -> None:
    listing(
        fires,
        {
            "at": lambda fire: fire.at,
            "outcome": lambda fire: cell(_outcome(fire), OUTCOMES[fire.outcome]),
            "result": _result,
            "job": lambda fire: fire.job_id,
        },
        none="",
    )


def _outcome(fire: PastFire) -> str:
    by_hand = " by hand" if fire.manual else ""
    return f"{fire.outcome.value}{by_hand}" + (f" ({fire.times} up to then)" if fire.times > 1 else "")


def _result(fire: PastFire | None) -> Text:
    """The state of the job that a fire made, or why it made none."""
    if fire is None:
        return cell(None)
    if fire.outcome is not FireOutcome.FIRED:
        return cell(fire.outcome.value, OUTCOMES[fire.outcome])
    return state_cell(fire.job_state) if fire.job_state else cell("removed", "dim")
