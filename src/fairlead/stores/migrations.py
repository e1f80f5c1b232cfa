"""Numbered migrations: which there are, and what it means when a database has others."""

from pathlib import Path
from typing import NamedTuple

from fairlead.errors import SchemaMismatch


class Migration(NamedTuple):
    """One step of the schema: `NNNN_name.sql`."""

    version: int
    name: str
    script: str


def migrations_in(folder: Path) -> list[Migration]:
    """All migrations of a store, in order."""
    return [
        Migration(int(path.name[:4]), path.stem[5:], path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    ]


def needed_version(folder: Path) -> int:
    """The schema that this version works with."""
    return migrations_in(folder)[-1].version


def require_schema(found: int | None, needed: int) -> None:
    """Raise SchemaMismatch unless the database has the schema this version works with."""
    if found == needed:
        return
    if found is None:
        raise SchemaMismatch(
            "the database has no Fairlead tables yet; create them with `fairlead migrate` (same database URL)"
        )
    if found < needed:
        raise SchemaMismatch(
            f"the database has schema {found} but this version of Fairlead needs {needed}; "
            "run `fairlead migrate` once, then start again"
        )
    raise SchemaMismatch(
        f"the database has schema {found}, made by a newer Fairlead; this version knows only {needed}: "
        "upgrade Fairlead in this process"
    )
