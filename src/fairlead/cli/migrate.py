"""`fairlead migrate`: create Fairlead's tables, or bring them up to date."""

import asyncio

import typer

from fairlead.cli.loading import settings_for
from fairlead.cli.options import Database, Json
from fairlead.cli.output import plain, show, show_document
from fairlead.errors import ConfigError
from fairlead.wiring import is_in_memory, shown
from fairlead.wiring import migrate as migrate_database

app = typer.Typer()


@app.command()
def migrate(database: Database = None, as_json: Json = False) -> None:
    """Create Fairlead's tables, or bring them up to date."""
    url = settings_for(database).database_url
    if is_in_memory(url):
        raise ConfigError("a database in memory makes its own tables; there is nothing to migrate")
    applied = asyncio.run(migrate_database(url))
    if as_json:
        show_document({"database": shown(url), "applied": applied, "up_to_date": not applied})
        return
    for name in applied:
        show(f"applied {name}")
    show(f"{plain(shown(url))} is {'now' if applied else 'already'} up to date", wrap=False)
