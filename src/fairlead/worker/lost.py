"""Runs whose jobs were settled although their handlers go on: threads, and coroutines that swallow cancellation.

Nobody can stop them, so each keeps the capacity of its slot until it ends by itself. Where there are too many, a
supervisor replaces the process.
"""

from collections.abc import Callable

from fairlead.core.jobs.model import Claim
from fairlead.telemetry.events import Telemetry, ThreadLost


class LostRuns:
    """The handlers that could not be stopped and have not ended yet."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._runs: list[Callable[[], bool]] = []
        self.on_change: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, claim: Claim, is_over: Callable[[], bool]) -> None:
        """Count a run that goes on until `is_over` says otherwise."""
        self._runs.append(is_over)
        self._telemetry.emit(ThreadLost(claim.id, claim.lane.type, claim.lane.tenant, len(self._runs)))
        self.on_change()

    def look(self) -> None:
        """Forget those that have ended meanwhile."""
        left = [is_over for is_over in self._runs if not is_over()]
        if len(left) < len(self._runs):
            self._runs = left
            self.on_change()
