"""The event queue that drives virtual time."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[float, Any], None]
Event = tuple[float, int, Action, Any]


class EventQueue:
    """Events by time; events of the same time in the order in which they were added."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._added = 0

    def add(self, time: float, action: Action, subject: Any = None) -> None:
        """Schedule an action."""
        self._added += 1
        heappush(self._events, (time, self._added, action, subject))

    def run(self, until: float) -> None:
        """Run all actions that are due by then."""
        events = self._events
        while events and events[0][0] <= until:
            time, _, action, subject = heappop(events)
            action(time, subject)
