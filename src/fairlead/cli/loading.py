"""What commands work with: an app from a module, settings, and a client or store on an open database."""

import asyncio
import importlib
import os
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from fairlead.config import Settings, load_settings
from fairlead.errors import ConfigError

if TYPE_CHECKING:
    from fairlead.app import App
    from fairlead.client.client import Client
    from fairlead.records.store import Store

Result = TypeVar("Result")


def load_app(path: str, include: Sequence[str] = ()) -> "App":
    """The App at `module:attribute`, with the modules of its handlers that it or `include` names imported too.

    Modules are looked for in the current folder first; ConfigError says what is missing.
    """
    found = _find_app(path)
    for module_name in (*found.include, *include):
        _import(module_name)
    return found


def _find_app(path: str) -> "App":
    from fairlead.app import App

    module_name, colon, attribute = path.partition(":")
    if not colon or not module_name or not attribute:
        raise ConfigError(f"{path!r} does not name an app; write it like shop.jobs:app")
    found: object = _import(module_name)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ConfigError(f"the module {module_name} has no {attribute!r}; {_apps_in(module_name)}")
        found = getattr(found, name)
    if not isinstance(found, App):
        raise ConfigError(f"{path} is a {type(found).__name__}, not a fairlead.App; {_apps_in(module_name)}")
    return found


def settings_for(database: str | None, app: "App | None" = None) -> Settings:
    """The settings in force: the app's own if there is one, with the database that the command line names."""
    if app is None:
        return load_settings(database_url=database)
    return app.settings if database is None else app.settings.model_copy(update={"database_url": database})


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator["Client"]:
    """A client on an open store."""
    from fairlead.client.client import Client
    from fairlead.wiring import is_in_memory, make_store

    if is_in_memory(settings.database_url):
        raise ConfigError("a database in memory lives and dies with one process; use sqlite:///jobs.db")
    store = make_store(settings.database_url, listen_url=settings.listen_url)
    await store.open()
    client = Client(store, settings)
    try:
        yield client
    finally:
        await client.close()
        await store.close()


def on_client(database: str | None, act: Callable[["Client"], Awaitable[Result]], app: "App | None" = None) -> Result:
    """Run something with a client on the database that the command line, the app or the settings name."""
    settings = settings_for(database, app)

    async def run() -> Result:
        async with opened(settings) as client:
            return await act(client)

    return asyncio.run(run())


def on_store(database: str | None, act: Callable[["Store"], Awaitable[Result]]) -> Result:
    """Run something with the store that the command line or the settings name."""
    return on_client(database, lambda client: act(client.store))


def _import(module_name: str) -> ModuleType:
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and _is_part(error.name, module_name):
            raise ConfigError(f"there is no module {error.name!r} in {folder} or among what is installed") from None
        raise ConfigError(f"the module {module_name} cannot be imported: {_last_line(error)}") from error


def _is_part(missing: str | None, module_name: str) -> bool:
    return missing is not None and f"{module_name}.".startswith(f"{missing}.")


def _last_line(error: BaseException) -> str:
    """The error as the last line of its traceback says it, and where it was raised."""
    line = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    return f"{line} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else line


def _apps_in(module_name: str) -> str:
    from fairlead.app import App

    names = [name for name, value in vars(sys.modules[module_name]).items() if isinstance(value, App)]
    return f"its apps are: {', '.join(sorted(names)) or 'none'}"
