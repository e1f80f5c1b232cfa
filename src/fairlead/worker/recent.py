"""The lanes that had work lately, which a worker with nothing to do tries first after a hint.

That saves a look at all lanes, but finds no other lane, and nothing that is older than what was claimed last. Where
hints never end the look would never come, so after a while it goes first.
"""

import time
from collections.abc import Iterable, Iterator

from fairlead.core.jobs.model import ActiveLane

MOST = 16
LONGEST = 0.25  # seconds for which these are tried without a look


class RecentLanes:
    """Those of one worker, each with when the last job that was claimed of it had become ready."""

    def __init__(self) -> None:
        self._lanes: dict[int, ActiveLane] = {}
        self._since: float | None = None  # when they were tried first after the last look

    def __iter__(self) -> Iterator[ActiveLane]:
        return iter(self._lanes.values())

    def remember(self, lanes: Iterable[ActiveLane]) -> None:
        """These had work."""
        for active in lanes:
            lane_id = active.lane.id
            self._lanes.pop(lane_id, None)
            self._lanes[lane_id] = active
        for lane_id in list(self._lanes)[:-MOST]:
            del self._lanes[lane_id]

    def may_go_first(self) -> bool:
        """Whether to try them before a look."""
        if not self._lanes:
            return False
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return now - self._since <= LONGEST

    def looked(self) -> None:
        """There was a look at all lanes."""
        self._since = None
