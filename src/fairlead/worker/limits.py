"""Limits as one worker sees them: what is in force, which are full, and the lanes that wait for room.

A full limit is tried again when this worker ends a job under it, when another worker hints that it ended one, when a
token is due, and once a second in any case. Hints that turn out useless are followed more and more slowly, so that a
limit that many workers want is not asked by all of them whenever one job ends. The store alone decides; what is kept
here only saves questions.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from fairlead.core.jobs.model import ActiveLane, Claim, Lane, Quota, Settlement
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.limits import LimitedQuota, Rules
from fairlead.handlers.spec import HandlerSpec
from fairlead.records.limits import LimitedClaims

SWEEP = 1.0
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 1.0
TOKEN_PAUSE = 0.05  # tokens are fetched several at a time
MOST_HELD = 10_000


class Full:
    """A limit that was found full."""

    __slots__ = ("hinted", "pause", "tried_at", "until")

    def __init__(self, tried_at: float, until: float, pause: float) -> None:
        self.tried_at = tried_at
        self.until = until
        self.pause = pause
        self.hinted = False


class LimitGate:
    """Keeps lanes aside while one of their limits is full."""

    def __init__(self, specs: Mapping[str, HandlerSpec]) -> None:
        self._specs = specs
        self._known = 0
        self._controls = Controls()
        self.rules = self._make_rules()
        self._full: dict[str, Full] = {}
        self.aside: dict[int, ActiveLane] = {}
        self._held: dict[str, tuple[str, ...]] = {}
        self._next = 0.0

    def follow(self, controls: Controls) -> None:
        """Other limits are in force now."""
        self._controls = controls
        self.rules = self._make_rules()
        self._full.clear()
        self._next = 0.0

    def admit(self, lanes: Iterable[ActiveLane]) -> dict[int, ActiveLane]:
        """Those of the active lanes that may be tried; the others are kept aside."""
        self.aside = {}
        if len(self._specs) != self._known:  # a program may declare handlers while its worker runs
            self.rules = self._make_rules()
        if not self._full:
            return {active.lane.id: active for active in lanes}
        now = time.monotonic()
        admitted: dict[int, ActiveLane] = {}
        for active in lanes:
            (admitted if self._may_try(active.lane, now) else self.aside)[active.lane.id] = active
        self._plan()
        return admitted

    def reopened(self) -> dict[int, ActiveLane]:
        """The lanes kept aside that may be tried again."""
        if not self.aside or (now := time.monotonic()) < self._next:
            return {}
        found = {lane_id: active for lane_id, active in self.aside.items() if self._may_try(active.lane, now)}
        for lane_id in found:
            del self.aside[lane_id]
        self._plan()
        return found

    def is_open(self, lane: Lane) -> bool:
        """Whether none of the lane's limits is known to be full."""
        return not self._full or self._may_try(lane, time.monotonic())

    def patience(self) -> float:
        """Seconds until a lane kept aside may be tried again."""
        return max(0.005, self._next - time.monotonic()) if self.aside else SWEEP * 60

    def split(self, quotas: Sequence[Quota], lane_of: Callable[[int], Lane]) -> tuple[list[Quota], list[LimitedQuota]]:
        """The quotas of lanes without limits, and of those with."""
        plain, limited = [], []
        for quota in quotas:
            lane = lane_of(quota.lane)
            names = self.rules.of(lane)
            if names:
                limited.append(LimitedQuota(quota, lane, names))
            else:
                plain.append(quota)
        return plain, limited

    def learn(self, wanted: Sequence[LimitedQuota], answer: LimitedClaims) -> None:
        """Remember what was claimed, and which limits are full; lanes that could have given more wait aside."""
        limits = {item.quota.lane: item.limits for item in wanted}
        granted = {name for claim in answer.claims for name in limits[claim.lane.id]}
        now = time.monotonic()
        for name in {name for item in wanted for name in item.limits}:
            self._note(name, answer, name in granted, now)
        self._hold(answer.claims, limits)
        for item in wanted:
            if not self._may_try(item.lane, now):
                self.aside[item.quota.lane] = ActiveLane(item.lane, item.quota.since)
        self._plan()

    def hint(self) -> bool:
        """There may be room under limits again; whether that matters here."""
        for full in self._full.values():
            full.hinted = True
            full.until = min(full.until, full.tried_at + full.pause)
        self._plan()
        return bool(self.aside)

    def freed(self, settlements: Iterable[Settlement]) -> tuple[bool, bool]:
        """Jobs of this worker were settled: whether there is room for lanes kept here, and whether for others."""
        if not self._held:
            return False, False
        names = {name for item in settlements for name in self._held.pop(item.id, ())}
        for name in names & self._full.keys():
            self._full[name].until = 0.0
        self._plan()
        wanted_here = {name for active in self.aside.values() for name in self.rules.of(active.lane)}
        return bool(names & wanted_here), bool(names - wanted_here)

    def _make_rules(self) -> Rules:
        specs = self._specs.values()
        self._known = len(self._specs)
        declared = {limit.name: limit.bound for spec in specs for limit in spec.limits}
        return Rules(declared, {spec.name: spec.marks.shared for spec in specs}, self._controls)

    def _note(self, name: str, answer: LimitedClaims, granted: bool, now: float) -> None:
        before = self._full.pop(name, None)
        if name not in answer.full:
            return
        again_in = answer.full[name]
        pause = FIRST_PAUSE
        if before is not None and not granted:
            pause = min(before.pause * 2, LONGEST_PAUSE) if before.hinted else before.pause
        self._full[name] = Full(now, now + (SWEEP if again_in is None else max(again_in, TOKEN_PAUSE)), pause)

    def _hold(self, claims: Sequence[Claim], limits: Mapping[int, tuple[str, ...]]) -> None:
        if len(self._held) > MOST_HELD:  # settlements that were refused leave entries behind; they only save hints
            self._held.clear()
        for claim in claims:
            self._held[claim.id] = limits[claim.lane.id]

    def _may_try(self, lane: Lane, now: float) -> bool:
        full = self._full
        return all(name not in full or now >= full[name].until for name in self.rules.of(lane))

    def _plan(self) -> None:
        """When to look at the lanes kept aside again."""
        self._next = min((full.until for full in self._full.values()), default=0.0)
