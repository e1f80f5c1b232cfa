"""The arguments and options that several commands share, and how their texts are read."""

import json
import sys
import time
from datetime import datetime
from typing import Annotated, Any

import typer

from fairlead.core.durations import seconds
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError, JobNotFound, PayloadError
from fairlead.runtime.operator import Operator, whoami


def group(about: str) -> typer.Typer:
    """A group of commands, which prints its help when none is named."""
    made = typer.Typer(help=about, invoke_without_command=True)

    @made.callback()
    def start(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    start.__doc__ = about
    return made


def parse_duration(text: str) -> float:
    """Seconds from text like 30s, as a usage error where it is none."""
    try:
        return seconds(text)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


def parse_instant(text: str) -> datetime:
    """An instant from ISO 8601, as a usage error where it is none."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an instant; write it like 2030-01-31T08:00:00Z") from None
    if instant.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no time zone; add Z or an offset like +02:00")
    return instant


def parse_moment(text: str) -> float:
    """Seconds since 1970 from a duration that has passed since, or from ISO 8601."""
    try:
        return time.time() - seconds(text)
    except ConfigError:
        return parse_instant(text).timestamp()


def parse_priority(text: str) -> Priority:
    """A priority by its name, as a usage error where it is none."""
    try:
        return Priority.parse(text)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


def parse_retry(text: str) -> Retry:
    """A policy from JSON that names its parts, as a usage error where it is none."""
    try:
        return Retry(**json.loads(text))
    except (ConfigError, TypeError, ValueError) as error:
        raise typer.BadParameter(f"{text!r:.200} is not a retry policy: {error}") from None


def parse_cursor(text: str) -> str:
    """A cursor of jobs, as a usage error where it is none."""
    if not is_id(text):
        raise typer.BadParameter(f"{text!r} is not a cursor; take the one that the page before ends with")
    return text


def parse_payload(given: str | bytes) -> dict[str, Any]:
    """A job's arguments from JSON."""
    try:
        value = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f'the payload is not JSON ({error}); write it like \'{{"name": "Ann"}}\'') from None
    if not isinstance(value, dict):
        raise PayloadError("the payload must be a JSON object: the handler's arguments by name")
    return value


def read_payload(given: str) -> dict[str, Any]:
    """A job's arguments from JSON on the command line, or for `-` from standard input."""
    return parse_payload(sys.stdin.buffer.read() if given == "-" else given)


def duration(about: str, *names: str) -> Any:
    """An option that is a duration."""
    return typer.Option(*names, parser=parse_duration, metavar="DURATION", help=about)


def instant(about: str) -> Any:
    """An option that is an instant."""
    return typer.Option(parser=parse_instant, metavar="ISO-TIME", help=about)


def _ago(about: str) -> Any:
    return typer.Option(parser=parse_moment, metavar="AGO|ISO-TIME", help=about)


Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The database; else FAIRLEAD_DATABASE_URL or fairlead.toml names it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
AppOption = Annotated[
    str | None, typer.Option("--app", metavar="MODULE:APP", help="Check the arguments with this app's handler.")
]

# Who acts, and why.
Actor = Annotated[str | None, typer.Option("--as", metavar="WHO", help="Who does it, for the audit; else USER@HOST.")]
Reason = Annotated[str | None, typer.Option(metavar="WHY", help="Why, for the audit; needed for more than one job.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

# A job, and its terms.
JobId = Annotated[str, typer.Argument(metavar="ID", help="The whole id of the job.")]
JobIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The whole ids of the jobs.")]
PriorityOption = Annotated[
    Priority | None,
    typer.Option(parser=parse_priority, metavar="critical|high|default|low", help="The job's priority."),
]
RetryOption = Annotated[
    Retry | None,
    typer.Option(
        parser=parse_retry,
        metavar="JSON",
        help='A retry policy of its own, like {"backoff": "fixed", "first": "10s", "attempts": 3}.',
    ),
]
CallbackOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The callback endpoint that is told how it ends.")
]

# Which jobs.
States = Annotated[list[State] | None, typer.Option("--state", help="Only jobs in this state; repeat it for more.")]
Type = Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")]
Tenant = Annotated[str | None, typer.Option(help="Only jobs of this tenant.")]
Pool = Annotated[str | None, typer.Option(help="Only jobs of this pool.")]
OfPriority = Annotated[
    Priority | None,
    typer.Option("--priority", parser=parse_priority, metavar="critical|high|default|low", help="Only of this one."),
]
Key = Annotated[str | None, typer.Option(help="Only jobs with this idempotency key.")]
Fingerprint = Annotated[
    str | None, typer.Option(help="Only dead jobs with this fingerprint; `jobs groups` shows fingerprints.")
]
Error = Annotated[str | None, typer.Option("--error", help="Only jobs that died of an error of exactly this type.")]
Since = Annotated[float | None, _ago("Only jobs that ended since then: 2h ago, or an instant.")]
Until = Annotated[float | None, _ago("Only jobs that ended before then.")]
Most = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many jobs, the newest first.")]
Everything = Annotated[bool, typer.Option("--all", help="All jobs that the command is for.")]
PageSize = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many a page has.")]
Cursor = Annotated[str | None, typer.Option(parser=parse_cursor, metavar="CURSOR", help="Go on where a page ended.")]


def operator(actor: str | None, reason: str | None) -> Operator:
    """Who acts, and why."""
    return Operator(actor or whoami(), reason)


def whole_id(text: str) -> str:
    """The id itself; JobNotFound for a part of one."""
    if not is_id(text):
        raise JobNotFound(f"{text!r} is not the id of a job; ids have 36 characters, take the whole id")
    return text


def chosen_ids(job_ids: list[str] | None, wanted: JobFilter, everything: bool, reason: str | None) -> list[str]:
    """The ids that were named, or none where a filter or --all was given; more than one job needs a reason."""
    ids = [whole_id(job_id) for job_id in dict.fromkeys(job_ids or ())]
    if ids and (everything or wanted != JobFilter()):
        raise typer.BadParameter("name jobs or give a filter, not both")
    if not ids and not everything and wanted == JobFilter():
        raise typer.BadParameter("name jobs, give a filter, or say --all")
    if len(ids) != 1:
        require_reason(reason)
    return ids


def require_reason(reason: str | None) -> None:
    """A usage error where many jobs are changed and nobody says why."""
    if not reason or not reason.strip():
        raise typer.BadParameter("--reason is needed for more than one job; it goes into the audit")


def require_yes(question: str, yes: bool, as_json: bool) -> None:
    """Ask a person, unless the answer was given; a program has to give it."""
    if yes:
        return
    if as_json:
        raise typer.BadParameter(f"{question} With --json nobody is asked: add --yes")
    typer.confirm(question, abort=True, err=True)
