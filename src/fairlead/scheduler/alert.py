"""Looks at the system as an operator would, and tells what is wrong when it begins and when it is over.

It runs under the leader, and remembers what it told: another leader tells what stands again.
"""

import time
from collections.abc import Callable

from fairlead.core.insight.alerts import AlertState
from fairlead.operate.system_status import system_status
from fairlead.records.store import Store
from fairlead.telemetry.events import AlertCleared, AlertRaised, Telemetry

INTERVAL = 15.0
COST_SHARE = 0.02


class Alerter:
    """Raises and clears alerts."""

    name = "alert"

    def __init__(self, store: Store, telemetry: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._telemetry = telemetry
        self._clock = clock
        self._standing = AlertState()

    async def run_once(self) -> float:
        """Look once; returns the seconds until the next look, more where looking takes long."""
        began = self._clock()
        turn = self._standing.see((await system_status(self._store)).health.alerts)
        for alert in turn.raised:
            event = AlertRaised(alert.code, alert.about or None, alert.level.value, alert.sentence, alert.hint)
            self._telemetry.emit(event)
        for alert in turn.cleared:
            self._telemetry.emit(AlertCleared(alert.code, alert.about or None))
        return max(INTERVAL, (self._clock() - began) / COST_SHARE)
