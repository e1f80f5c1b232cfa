"""PostgreSQL as a Database: on a pool of connections, or in one transaction that somebody else commits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from pydantic_core import to_json

from fairlead.errors import StoreUnavailable
from fairlead.ports.database import Database, Rows, Run, Script, Settle, Statement
from fairlead.stores.postgres.connection import DEADLINE, Pool, heeding, query, translating
from fairlead.stores.postgres.settling import settle_script
from fairlead.stores.within import drive_async

SHARD = 0

Value = TypeVar("Value")


def json_text(values: Any) -> str:
    """Values as the JSON text that a statement takes."""
    return to_json(values).decode()


class ConnectedDatabase(Database):
    """The methods of a Database over whatever lends a connection."""

    def connection(self) -> AbstractAsyncContextManager[Any]:
        """A connection for one call, within our deadline and with our errors."""
        raise NotImplementedError

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in a transaction and return its value."""
        async with self.connection() as connection, connection.transaction():
            return await drive(connection, make_script())

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that only reads."""
        return await self.run(name, **parameters)

    async def ask_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that only reads, for each row of the batch."""
        return await self.ask(name, rows=json_text(batch))

    async def run(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that writes."""
        async with self.connection() as connection:
            return await perform(connection, Run(name, parameters))

    async def run_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that writes, for each row of the batch."""
        return await self.run(name, rows=json_text(batch))


class PooledDatabase(ConnectedDatabase):
    """Each call has a connection of the pool to itself."""

    _pool: Pool

    def connection(self) -> AbstractAsyncContextManager[Any]:
        """A connection of the pool."""
        return self._pool.lend()

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Reading can be repeated, so connections that broke while they lay in the pool are nobody's concern."""
        try:
            return await self.run(name, **parameters)
        except StoreUnavailable:
            with heeding(), translating():
                async with asyncio.timeout(DEADLINE):
                    await self._pool.check()
            return await self.run(name, **parameters)


class OpenDatabase(ConnectedDatabase):
    """A transaction that is open already, and ends with whoever began it."""

    def __init__(self, connection: Any) -> None:
        self._given = connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """The connection of the transaction."""
        with translating():
            async with asyncio.timeout(DEADLINE):
                yield self._given

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in the open transaction."""
        async with self.connection() as connection:
            return await drive(connection, make_script())


async def drive(connection: Any, script: Script[Value]) -> Value:
    """Run a script on a connection; whoever has it open decides about the transaction."""
    return await drive_async(script, lambda statement: perform(connection, statement))


async def perform(connection: Any, statement: Statement) -> Rows:
    """Run one statement on a connection."""
    if isinstance(statement, Settle):
        return [(job_id,) for job_id in await drive(connection, settle_script(statement.settlements))]
    given = statement.parameters if isinstance(statement, Run) else {"rows": json_text(statement.rows)}
    cursor = await connection.execute(query(statement.query), {"shard": SHARD, **given})
    return await cursor.fetchall() if cursor.description else []
