"""Which alerts stand: what is told once when it begins and once when it ends, however often somebody looks."""

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.core.insight.diagnosis import Alert

LOOKS = 2  # in a row that an alert must be there to be raised, or must not be there to be cleared

Key = tuple[str, str]


class AlertChanges(NamedTuple):
    """What began and what ended with a look."""

    raised: list[Alert]
    cleared: list[Alert]


class AlertState:
    """Follows looks; a single one proves nothing, so that what comes and goes is not told."""

    def __init__(self) -> None:
        self._raised: dict[Key, Alert] = {}
        self._looks: dict[Key, int] = {}  # in a row that differ from what was told

    def see(self, alerts: Iterable[Alert]) -> AlertChanges:
        """What a look changes."""
        seen = {(alert.code, alert.about): alert for alert in alerts}
        differing = seen.keys() ^ self._raised.keys()
        self._looks = {key: self._looks.get(key, 0) + 1 for key in differing}
        due = {key for key, looks in self._looks.items() if looks >= LOOKS}
        self._looks = {key: looks for key, looks in self._looks.items() if key not in due}
        raised = {key: alert for key, alert in seen.items() if key in due}
        cleared = [self._raised.pop(key) for key in due - raised.keys()]
        self._raised.update(raised)
        return AlertChanges(list(raised.values()), cleared)
