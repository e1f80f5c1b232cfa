"""Database: runs named SQL statements, one at a time or as a script in a transaction.

The records package is written once over these five methods. A script is a generator that yields statements and receives
their rows, so the same script runs on the store's connection or in a caller's transaction, blocking or async.
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
    """Run a statement once for each of these rows; all returned rows come back in one list."""

    query: str
    rows: list[dict[str, Any]]


class Settle(NamedTuple):
    """Apply these settlements as `JobStore.settle` does; returns a row (id,) for each one whose hold was valid."""

    settlements: Sequence[Settlement]


Statement = Run | RunEach | Settle
Script = Generator[Statement, Rows, Value]


class Database(Protocol):
    """A database, or one open transaction of it."""

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in a transaction and return its value; each retry makes a new script."""
        raise NotImplementedError

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Run one read-only statement."""
        raise NotImplementedError

    async def ask_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one read-only statement for each row of the batch."""
        raise NotImplementedError

    async def run(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that writes."""
        raise NotImplementedError

    async def run_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that writes, for each row of the batch."""
        raise NotImplementedError
