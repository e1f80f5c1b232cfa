"""The connections of a store, as the server sees them."""

import pytest

from fairlead.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.postgres


async def test_statements_are_not_compiled(postgres_url: str) -> None:
    """Compiling took more than half of the server's time whenever its guesses about a claim were wrong."""
    store = PostgresStore(postgres_url)
    await store.open()
    try:
        async with store._connection() as connection:
            cursor = await connection.execute("show jit")
            assert await cursor.fetchone() == ("off",)
    finally:
        await store.close()
