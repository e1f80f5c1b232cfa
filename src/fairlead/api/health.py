"""/healthz and /readyz, the only anonymous paths; and the description of the API for those who have a key."""

from fastapi import APIRouter, Request, Response

from fairlead.api.caller import Reader
from fairlead.api.responses import answer
from fairlead.api.service import Service
from fairlead.errors import FairleadError
from fairlead.runtime.cache import Cached

FRESH = 0.5


def health_router(service: Service) -> APIRouter:
    """Whether the process lives, and whether it can serve."""
    router = APIRouter(include_in_schema=False)
    answers = Cached(lambda: service.store.api_keys.read(["readyz"]))  # who asks often does not ask the store as often

    @router.get("/healthz")
    async def healthz() -> Response:
        return answer(200, {"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        if why := service.why_not_ready():
            return answer(503, {"status": why})
        try:
            await answers.get(FRESH)
        except FairleadError:
            return answer(503, {"status": "the store cannot be used now"})
        return answer(200, {"status": "ok"})

    @router.get("/v1/openapi.json")
    async def openapi(request: Request, caller: Reader) -> Response:
        return answer(200, request.app.openapi())

    return router
