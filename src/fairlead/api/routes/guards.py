"""/v1/breakers, /v1/quarantines: what keeps jobs from starting, and letting them."""

from dataclasses import asdict

from fastapi import APIRouter

from fairlead.api.answers import answers
from fairlead.api.caller import Chief, Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.guards import (
    BreakerAction,
    BreakerDocument,
    Breakers,
    QuarantineAction,
    QuarantineBegin,
    QuarantineDocument,
    Quarantines,
)
from fairlead.operate import quarantine
from fairlead.operate.breakers import BreakerStatus, breakers, close_breaker, open_breaker

router = APIRouter(prefix="/v1", tags=["guards"], route_class=Endpoint)


@router.get("/breakers", responses=answers())
async def list_breakers(caller: Overseer) -> Breakers:
    """The breakers of dependencies, and those of types that have something to tell."""
    return Breakers(breakers=[_document(status) for status in await breakers(caller.store)])


@router.post("/breakers/open", responses=answers(404))
async def open_one(wanted: BreakerAction, caller: Chief) -> BreakerDocument:
    """Let nothing through a breaker start until somebody closes it; what runs goes on."""
    return _document(await open_breaker(caller.store, wanted.name, caller.operator(wanted.reason)))


@router.post("/breakers/close", responses=answers(404))
async def close_one(wanted: BreakerAction, caller: Chief) -> BreakerDocument:
    """Let everything through a breaker start at once, and count from nothing."""
    return _document(await close_breaker(caller.store, wanted.name, caller.operator(wanted.reason)))


@router.get("/quarantines", responses=answers())
async def list_quarantines(caller: Overseer) -> Quarantines:
    """All types in quarantine."""
    found = await quarantine.quarantined(caller.store)
    return Quarantines(quarantines=[QuarantineDocument(**item._asdict()) for item in found])


@router.post("/quarantines", status_code=204, responses=answers())
async def put_in(wanted: QuarantineBegin, caller: Chief) -> None:
    """Let nothing of a type start until it is released, or give its jobs few attempts."""
    await quarantine.put(caller.store, wanted.type, caller.operator(wanted.reason), wanted.attempts)


@router.post("/quarantines/release", status_code=204, responses=answers(404))
async def release(wanted: QuarantineAction, caller: Chief) -> None:
    """Let a type start again, and count its runs from nothing."""
    await quarantine.release(caller.store, wanted.type, caller.operator(wanted.reason))


def _document(status: BreakerStatus) -> BreakerDocument:
    fields = asdict(status)
    fields.pop("permits")
    return BreakerDocument(**{**fields, "types": list(status.types)})
