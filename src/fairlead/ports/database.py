"""Database: named SQL statements, one at a time or as a script in a transaction.

What a store does alike on every database is written once over these five methods. A script is a generator that yields
statements and is sent their rows: whoever runs it decides on which connection, blocking or not.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from fairlead.core.jobs.model import Settlement

Value = TypeVar("Value")
Rows = list[Any]


class Run(NamedTuple):
    """Run a statement once with these parameters."""

    query: str
    parameters: dict[str, Any]


class RunEach(NamedTuple):
    """Run a statement for each of these rows; all rows that it returns come back together."""

    query: str
    rows: list[dict[str, Any]]


class Settle(NamedTuple):
    """Apply these settlements as the store's own `settle` does; returns a row (id,) for each that held."""

    settlements: Sequence[Settlement]


Statement = Run | RunEach | Settle
Script = Generator[Statement, Rows, Value]


class Database(Protocol):
    """A database, or one open transaction of it."""

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in a transaction and return its value; the script is made anew for each try."""
        raise NotImplementedError

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that only reads."""
        raise NotImplementedError

    async def ask_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that only reads, for each row of the batch."""
        raise NotImplementedError

    async def run(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that writes."""
        raise NotImplementedError

    async def run_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that writes, for each row of the batch."""
        raise NotImplementedError
