"""Alert state: raises an alert once when it begins and clears it once when it ends."""

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.core.insight.diagnosis import Alert

LOOKS = 2  # checks in a row with an alert to raise it, or without it to clear it

Key = tuple[str, str]


class AlertChanges(NamedTuple):
    """The alerts raised and cleared by a check."""

    raised: list[Alert]
    cleared: list[Alert]


class AlertState:
    """Compares successive checks; an alert that is seen in a single one is not raised."""

    def __init__(self) -> None:
        self._raised: dict[Key, Alert] = {}
        self._looks: dict[Key, int] = {}  # checks in a row that differ from the raised alerts

    def see(self, alerts: Iterable[Alert]) -> AlertChanges:
        """Return the alerts that a check raises and clears."""
        seen = {(alert.code, alert.about): alert for alert in alerts}
        differing = seen.keys() ^ self._raised.keys()
        self._looks = {key: self._looks.get(key, 0) + 1 for key in differing}
        due = {key for key, looks in self._looks.items() if looks >= LOOKS}
        self._looks = {key: looks for key, looks in self._looks.items() if key not in due}
        raised = {key: alert for key, alert in seen.items() if key in due}
        cleared = [self._raised.pop(key) for key in due - raised.keys()]
        self._raised.update(raised)
        return AlertChanges(list(raised.values()), cleared)
