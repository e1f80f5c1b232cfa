"""What commands print: tables and text that are safe on a terminal, JSON documents, and errors with exit codes."""

import json
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairlead.core.jobs.model import ErrorInfo
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

if TYPE_CHECKING:
    from fairlead.documents.base import Document

Item = TypeVar("Item")
Columns = Mapping[str, Callable[[Item], object]]

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


def listing(items: Iterable[Item], columns: Columns[Item], none: str, cut: Container[str] = ()) -> None:
    """Print items as a table, or a sentence where there are none; the columns in `cut` give way on a narrow terminal.

    A column is what it says of an item: a text from outside, a Text with a colour, a number, an instant or None.
    """
    rows = [[_cell(column(item)) for column in columns.values()] for item in items]
    if not rows:
        show(none)
        return
    made = table(**{name: name not in cut for name in columns})
    for row in rows:
        made.add_row(*row)
    show(made)


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    return cell(moment(value) if isinstance(value, datetime) else value)


def more(cursor: object) -> None:
    """Say how a listing goes on, if it does."""
    if cursor is not None:
        show(Text(f"more: repeat the command with --cursor {cursor}", "dim"), wrap=False)


def show_document(document: "Document | Mapping[str, Any]") -> None:
    """Print the one JSON document of a command."""
    plain_document = document if isinstance(document, Mapping) else document.as_json()
    typer.echo(json.dumps(plain_document, indent=2))


def short(error: ErrorInfo | None) -> str | None:
    """An error in one line."""
    return None if error is None else f"{error.type}: {error.message}"


@contextmanager
def progress(what: str, total: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, where a person looks at it; call what it gives with each step's size."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
