"""What commands print: text that is safe on a terminal, JSON with stable keys, and errors with their exit codes."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord
from fairlead.core.jobs.model import ErrorInfo
from fairlead.core.jobs.progress import Progress as JobProgress
from fairlead.core.jobs.states import State
from fairlead.errors import (
    CallbackNotFound,
    FairleadError,
    JobNotFound,
    KeyNotFound,
    NotSet,
    ScheduleNotFound,
    SchemaMismatch,
    StoreUnavailable,
    UnknownType,
    WorkerNotFound,
)

USAGE_CODE = "USAGE"
USAGE_EXIT = 2
INTERRUPTED_EXIT = 130
EXIT_CODES: tuple[tuple[type[FairleadError], int], ...] = (
    (JobNotFound, 3),
    (ScheduleNotFound, 3),
    (UnknownType, 3),
    (CallbackNotFound, 3),
    (KeyNotFound, 3),
    (WorkerNotFound, 3),
    (NotSet, 3),
    (StoreUnavailable, 4),
    (SchemaMismatch, 5),
    (FairleadError, 1),
)
EXIT_CODES_HELP = (
    "Exit codes: 0 done; 1 refused or failed; 2 wrong usage; 3 no such job, job type, schedule, callback, key, worker "
    "or setting; 4 the database cannot be reached; 5 the database has another schema; 130 stopped with Ctrl-C."
)

# Wide enough that no line is cut when the output goes to a file or another program.
UNLIMITED = 240
NARROW = 110
COLOURS = {
    State.READY: "cyan",
    State.ENQUEUED: "cyan",
    State.SCHEDULED: "blue",
    State.BLOCKED: "blue",
    State.RUNNING: "yellow",
    State.RETRYING: "magenta",
    State.SUCCEEDED: "green",
    State.DEAD: "bold red",
    State.CANCELLED: "dim",
    State.EXPIRED: "dim",
}


def plain(text: object) -> str:
    """The text on one line, with everything that could steer a terminal written as an escape."""
    return "".join(character if character.isprintable() else _escape(character) for character in str(text))


def plain_lines(text: object) -> str:
    """The same for text of several lines, whose line ends stay."""
    return "\n".join(plain(line.replace("\t", "    ")) for line in str(text).split("\n"))


def cell(text: object, style: str = "") -> Text:
    """Text from outside for a table: one line, cut with an ellipsis where it is too long."""
    return Text("" if text is None else plain(text), style=style, no_wrap=True, overflow="ellipsis")


def block(text: object, style: str = "") -> Text:
    """Text from outside that may have many lines."""
    return Text(plain_lines(text), style=style, overflow="fold")


def state_cell(state: State) -> Text:
    """A state in its colour."""
    return cell(state.value, COLOURS.get(state, ""))


def moment(instant: datetime | None) -> str | None:
    """An instant as people read it, in UTC."""
    return None if instant is None else f"{instant:%Y-%m-%d %H:%M:%S}.{instant.microsecond // 1000:03d} UTC"


def table(**columns: bool) -> Table:
    """A table with these columns; those that are True are never cut before the others."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, whole in columns.items():
        made.add_column(name.replace("_", " "), no_wrap=whole, overflow="ellipsis")
    return made


def show(*things: object, error: bool = False, wrap: bool = True) -> None:
    """Print for a person; markup in strings is shown as it is."""
    _console(sys.stderr if error else sys.stdout).print(*things, soft_wrap=not wrap)


def is_narrow() -> bool:
    """Whether there is no room for a table with all its columns."""
    return _console(sys.stdout).width < NARROW


def show_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a command."""
    typer.echo(json.dumps(document, indent=2))


def json_moment(instant: datetime | None) -> str | None:
    """An instant in JSON: ISO 8601."""
    return None if instant is None else instant.isoformat()


def json_value(text: str | None) -> Any:
    """A stored JSON text as a value; text that is not JSON stays text."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text


def job_document(job: JobRecord) -> dict[str, Any]:
    """A job in JSON."""
    return {
        "id": job.id,
        "type": job.type,
        "tenant": job.tenant,
        "pool": job.pool,
        "priority": job.priority.word,
        "version": job.version,
        "state": job.state.value,
        "attempt": job.attempt,
        "crashes": job.crashes,
        "fence": job.fence,
        "created_at": json_moment(job.created_at),
        "run_at": json_moment(job.run_at),
        "not_after": json_moment(job.not_after),
        "started_at": json_moment(job.started_at),
        "finished_at": json_moment(job.finished_at),
        "worker": job.worker,
        "key": job.key,
        "parent": job.parent,
        "options": json_value(job.options),
        "payload": json_value(job.payload),
        "result": json_value(job.result),
        "error": error_document(job.error),
        "replays": job.replays,
        "progress": progress_document(job.progress),
    }


def attempt_document(attempt: AttemptRecord) -> dict[str, Any]:
    """A failed run in JSON."""
    return {
        "attempt": attempt.attempt,
        "fence": attempt.fence,
        "worker": attempt.worker,
        "started_at": json_moment(attempt.started_at),
        "ended_at": json_moment(attempt.ended_at),
        "ending": attempt.ending.value,
        "error": attempt.error and {**error_document(attempt.error), "traceback": attempt.error.traceback},
    }


def moment_document(step: Moment) -> dict[str, Any]:
    """A moment of a job's life in JSON."""
    return {
        "at": json_moment(step.at),
        "what": step.what,
        "state": step.state and step.state.value,
        "attempt": step.attempt,
        "worker": step.worker,
        "took": step.took,
        "by": step.by,
        "note": step.note,
        "error": error_document(step.error),
    }


def progress_document(found: JobProgress | None) -> Any:
    """How far a run has come, in JSON."""
    return found and {
        "fraction": round(found.fraction, 6),
        "done": found.done,
        "total": found.total,
        "message": found.message,
        "at": json_moment(found.at),
    }


def error_document(error: ErrorInfo | None) -> Any:
    """An error in JSON."""
    return error and {
        "type": error.type,
        "message": error.message,
        "failure": error.failure and error.failure.value,
        "fingerprint": error.fingerprint,
    }


@contextmanager
def progress(what: str, total: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, where a person looks at it; call what it gives with each step's size."""
    console = _console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


def exit_code(error: FairleadError) -> int:
    """The exit code that tells scripts what kind of error it was."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def report_error(code: str, message: str, as_json: bool, retry_after: float | None = None) -> None:
    """One line on standard error, for a person or as JSON; what may be tried again says after how many seconds."""
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    if as_json:
        wait = {} if retry_after is None else {"retry_after": round(retry_after, 3)}
        typer.echo(json.dumps({"error": {"code": code, "message": line, **wait}}), err=True)
    else:
        show(Text.assemble(("error: ", "bold red"), plain(line), (f" [{code}]", "dim")), error=True, wrap=False)


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() or "COLUMNS" in os.environ else UNLIMITED
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
