"""Raises and clears alerts: emits an event when a problem of the system begins and when it ends.

The leader remembers the raised alerts; a new leader raises those that still stand again.
"""

import time
from collections.abc import Callable

from fairlead.core.insight.alerts import AlertState
from fairlead.insight.system_status import system_status
from fairlead.records.store import Store
from fairlead.telemetry.events import AlertCleared, AlertRaised, Telemetry

INTERVAL = 15.0
RESTING = 30.0  # while no job is live and no alert stands
COST_SHARE = 0.02
HOLD = 30.0  # seconds after the start for which a missing worker is not told: those that start need a moment


class Alerter:
    """Raises and clears alerts."""

    name = "alert"

    def __init__(self, store: Store, telemetry: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._telemetry = telemetry
        self._clock = clock
        self._standing = AlertState()
        self._started = clock()

    async def run_once(self) -> float:
        """Compare the present alerts with the last ones; returns the seconds until the next look."""
        began = self._clock()
        status = await system_status(self._store)
        alerts = status.health.alerts
        holds = began - self._started < HOLD
        turn = self._standing.see(alert for alert in alerts if not (holds and alert.code == "NO_WORKER"))
        for alert in turn.raised:
            event = AlertRaised(alert.code, alert.about or None, alert.level.value, alert.sentence, alert.hint)
            self._telemetry.emit(event)
        for alert in turn.cleared:
            self._telemetry.emit(AlertCleared(alert.code, alert.about or None))
        is_resting = not alerts and not any(pool.jobs for pool in status.pools)
        return max(RESTING if is_resting else INTERVAL, (self._clock() - began) / COST_SHARE)
