"""The HTTP API: an ASGI application that `fairlead serve` runs and that can be mounted in another."""

from typing import TYPE_CHECKING

from fairlead.app import App
from fairlead.errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI

MISSING = "the HTTP API needs packages that are not installed; add them with: pip install 'fairlead[server]'"


def create_app(app: App) -> "FastAPI":
    """The API of an app, as an ASGI application. Whoever made the app closes it."""
    try:
        from fairlead.api.server import build
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("fastapi", "starlette"):
            raise ConfigError(MISSING) from error
        raise
    return build(app)
