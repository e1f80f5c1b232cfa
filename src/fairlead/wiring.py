"""The only module that names adapters: from a database URL to a store."""

from collections.abc import Callable
from time import time

from fairlead.errors import ConfigError
from fairlead.ports.jobs import LeaseBook
from fairlead.records.lanes import KnownLanes
from fairlead.records.store import Store

HELP = "write it like sqlite:///jobs.db, sqlite:///:memory: or postgresql://user@host:5432/database"


def check_url(url: str) -> None:
    """ConfigError where no store is behind a URL of this kind."""
    _is_postgres(url)


def make_store(url: str, clock: Callable[[], float] = time, listen_url: str | None = None) -> Store:
    """The store behind a URL, not yet open. `clock` is SQLite's now; `listen_url` is where PostgreSQL's hints come."""
    lanes = KnownLanes()
    if _is_postgres(url):
        from fairlead.stores.postgres.store import PostgresStore

        return Store(PostgresStore(url, lanes, listen_url), lanes)
    from fairlead.stores.sqlite.store import SqliteStore

    return Store(SqliteStore(url, lanes, clock), lanes)


def make_blocking_store(url: str, clock: Callable[[], float] = time, shared: Store | None = None) -> Store:
    """The same for threads that block: its coroutines never wait. For a database in memory, a view of the `shared`."""
    lanes = KnownLanes()
    if _is_postgres(url):
        from fairlead.stores.postgres.blocking import BlockingPostgresStore

        return Store(BlockingPostgresStore(url, lanes), lanes)
    from fairlead.stores.sqlite.store import SqliteStore

    own = shared.jobs if shared is not None and isinstance(shared.jobs, SqliteStore) else None
    return Store((own or SqliteStore(url, lanes, clock)).blocking(), lanes)


def make_lease_book(url: str, store: Store | None = None) -> LeaseBook:
    """The blocking side of the store that renews leases; a store in memory shares its own."""
    if _is_postgres(url):
        from fairlead.stores.postgres.leasebook import PostgresLeaseBook

        return PostgresLeaseBook(url)
    from fairlead.stores.sqlite.leasebook import SqliteLeaseBook
    from fairlead.stores.sqlite.store import SqliteStore

    if store is not None and isinstance(store.jobs, SqliteStore):
        return store.jobs.lease_book()
    return SqliteLeaseBook(url)


async def migrate(url: str) -> list[str]:
    """Bring the schema up to date; returns the names of what was applied."""
    if _is_postgres(url):
        from fairlead.stores.postgres.migrate import migrate as migrate_postgres

        return await migrate_postgres(url)
    from fairlead.stores.sqlite.migrate import migrate as migrate_sqlite

    return await migrate_sqlite(url)


def shown(url: str) -> str:
    """The URL without its password."""
    if _is_postgres(url):
        from fairlead.stores.postgres.connection import hide_password

        return hide_password(url)
    return url


def database_file(url: str) -> str | None:
    """The file of a SQLite database; None where there is none."""
    if _is_postgres(url) or is_in_memory(url):
        return None
    from fairlead.stores.sqlite.address import parse

    return parse(url).path


def is_in_memory(url: str) -> bool:
    """Whether the store lives and dies with this process."""
    return url.split("?")[0] in ("sqlite://", "sqlite:///:memory:")


def _is_postgres(url: str) -> bool:
    scheme = url.partition(":")[0]
    if scheme in ("postgresql", "postgres"):
        return True
    if scheme == "sqlite":
        return False
    raise ConfigError(f"a database URL cannot begin with {scheme!r}; {HELP}")
