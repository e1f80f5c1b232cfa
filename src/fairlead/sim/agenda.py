"""Virtual time: what happens next, and when."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[float, Any], None]
Event = tuple[float, int, Action, Any]


class Agenda:
    """Events in the order of their time; those of one instant in the order in which they were entered."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._entered = 0

    def add(self, time: float, action: Action, subject: Any = None) -> None:
        """Let the action happen at that time."""
        self._entered += 1
        heappush(self._events, (time, self._entered, action, subject))

    def run(self, until: float) -> None:
        """Let everything happen that is due by then."""
        events = self._events
        while events and events[0][0] <= until:
            time, _, action, subject = heappop(events)
            action(time, subject)
