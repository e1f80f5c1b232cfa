"""The application: routes behind the gate, errors as problems, and its own description."""

import contextlib
from collections.abc import AsyncIterator

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from fairlead.api.caller import Needs
from fairlead.api.description import describe
from fairlead.api.gate import Gate, is_anonymous
from fairlead.api.health import health_router
from fairlead.api.problems import answer_problem
from fairlead.api.routes import (
    api_keys,
    audit,
    callbacks,
    dead_letters,
    follow,
    jobs,
    schedules,
    settings,
    status,
    tenants,
    types,
    workers,
)
from fairlead.api.service import Service
from fairlead.app import App
from fairlead.dashboard.routes import dashboard_router
from fairlead.errors import ConfigError, FairleadError
from fairlead.version import __version__

ROUTERS: tuple[APIRouter, ...] = (
    jobs.submissions,
    jobs.router,
    follow.router,
    types.router,
    api_keys.me,
    dead_letters.router,
    dead_letters.streams,
    schedules.router,
    schedules.fires,
    callbacks.secrets,
    callbacks.router,
    settings.router,
    tenants.router,
    workers.router,
    status.router,
    audit.router,
    api_keys.router,
)


def build(app: App) -> FastAPI:
    """The API of an app; `state.service` is what its endpoints work with."""
    service = Service(app)

    @contextlib.asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        await service.open()
        try:
            yield
        finally:
            await service.close()

    api = FastAPI(
        title="Fairlead",
        version=__version__,
        description="Durable jobs, shared fairly between tenants.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        middleware=[Middleware(Gate, service=service)],
        redirect_slashes=False,
    )
    api.state.service = service
    for kind in (HTTPException, RequestValidationError, FairleadError, Exception):
        api.add_exception_handler(kind, answer_problem)
    for router in (health_router(service), dashboard_router(service), *ROUTERS):
        api.router.routes.extend(router.routes)
    api.openapi = lambda: describe(api)  # type: ignore[method-assign]
    require_needs(api)
    return api


def require_needs(api: FastAPI) -> None:
    """Refuse to serve a route that does not say what it needs of its caller."""
    for route in api.routes:
        if is_anonymous(getattr(route, "path", "")):
            continue
        if not isinstance(route, APIRoute) or needs_of(route) is None:
            raise ConfigError(f"the route {getattr(route, 'path', route)} does not say what it needs of its caller")


def needs_of(route: APIRoute) -> Needs | None:
    """What a route needs of its caller."""
    found = [item.call for item in route.dependant.dependencies if isinstance(item.call, Needs)]
    return found[0] if found else None
