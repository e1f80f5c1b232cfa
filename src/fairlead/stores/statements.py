"""How verbs reach a database: statements by the name of their file, and scripts of them in one transaction."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from fairlead.stores.enqueue import Ask, Settle, Step

Value = TypeVar("Value")
Rows = list[Any]
Script = Generator[Step | Ask | Settle, list[Any], Value]


class Statements:
    """What a store brings to the verbs that are alike for every store."""

    async def _transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in a transaction; it is made anew for each try."""
        raise NotImplementedError

    async def _ask(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that only reads."""
        raise NotImplementedError

    async def _ask_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that only reads, for many rows."""
        raise NotImplementedError

    async def _run(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that writes."""
        raise NotImplementedError

    async def _run_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that writes, for many rows."""
        raise NotImplementedError
