"""/v1/alerts: what somebody should know of now."""

from fastapi import APIRouter

from fairlead.api.answers import answers
from fairlead.api.caller import Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.operate import AlertDocument, Alerts
from fairlead.operate.system_status import alert_document, system_status

router = APIRouter(prefix="/v1/alerts", tags=["stats"], route_class=Endpoint)


@router.get("", responses=answers())
async def alerts(caller: Overseer) -> Alerts:
    """The state of the system in one sentence, and all that is wrong, the worst first."""
    health = (await system_status(caller.store)).health
    found = [AlertDocument(**alert_document(alert)) for alert in health.alerts]
    return Alerts(level=health.level, sentence=health.sentence, alerts=found)
