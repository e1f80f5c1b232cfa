"""What a tenant may make of schedules by itself: few, not too fast, and under its own name.

The names of schedules are unique over all tenants. A tenant's own begin with its name and a slash, and have no slash
behind that; so no two tenants share a name, and one that is taken tells a tenant nothing about others. Jobs of
schedules do not pass the bounds on submissions, so their number has a bound of its own.
"""

from fairlead.core.schedule.fires import fires_of
from fairlead.core.schedule.timing import timetable
from fairlead.errors import ScheduleRefused
from fairlead.ports.store import Store

MOST = 100
LEAST_PAUSE = 1.0


async def require_own(store: Store, tenant: str, name: str, expression: str, zone: str | None) -> None:
    """Refuse a new schedule that is not for a tenant itself to make."""
    own, slash, rest = name.rpartition("/")
    if own != tenant or not slash or not rest:
        raise ScheduleRefused(f"the tenant {tenant} adds schedules under its own name, like {tenant}/nightly")
    require_slow(tenant, expression, zone)
    if len(await store.list_schedules(MOST, tenant=tenant)) >= MOST:
        raise ScheduleRefused(f"the tenant {tenant} has {MOST} schedules, and cannot add more itself; remove some")


def require_slow(tenant: str, expression: str, zone: str | None) -> None:
    """Refuse an expression that fires more often than a tenant itself may set."""
    fires = fires_of(timetable(expression, zone or "UTC"), 0.0, 2)
    if len(fires) == 2 and fires[1] - fires[0] < LEAST_PAUSE:
        raise ScheduleRefused(f"what the tenant {tenant} sets itself fires once a second at most")
