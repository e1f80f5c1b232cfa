"""Timetables of schedules: cron expressions in a time zone, and intervals.

A cron expression names wall-clock times. When a zone changes its offset, a wall-clock time can be skipped or repeated.
The rule is that of Debian's cron, for expressions with and without seconds:

- Times that are named (neither the minute nor the hour begins with `*`, as in `30 2 * * *`) fire once a day. One that
  is skipped fires at the first instant after the gap, and all that fall into one gap fire there once. One that is
  repeated fires the first time only.
- Times that recur within a day (`*/15 * * * *`, `0 * * * *`) follow the wall clock: nothing fires in a skipped hour,
  and a repeated hour fires both times.

An interval (`every 30s`) has no zone: it fires at multiples of its length since 1970, so that restarts do not shift it.

cronsim finds the next wall-clock time; this module converts it to an instant (seconds since 1970).
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from math import floor
from random import Random
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from fairlead.core.durations import seconds
from fairlead.errors import ConfigError

NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
LONGEST_EXPRESSION = 200
SHORTEST_INTERVAL, LONGEST_INTERVAL = 0.01, 366 * 86400.0
MICROSECONDS = 1_000_000
HALF_DAY = 43_200  # no zone changes its offset twice within it and back
HELP = "write it like '0 9 * * 1-5', '*/10 0 9 * * *' (with seconds), '@daily' or 'every 30s'"

_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)


class Timetable(Protocol):
    """The instants at which a schedule fires."""

    def next_after(self, instant: float) -> float | None:
        """Return the first fire after this instant; None if there is none within fifty years."""


class Interval:
    """Fires at the multiples of a duration since 1970, counted in microseconds to avoid drift."""

    def __init__(self, length: float) -> None:
        self._length = round(length * MICROSECONDS)

    def next_after(self, instant: float) -> float:
        """Return the next multiple after this instant."""
        passed = round(instant * MICROSECONDS) // self._length
        return (passed + 1) * self._length / MICROSECONDS


class Cron:
    """Fires by a cron expression in a time zone."""

    def __init__(self, expression: str, zone: tzinfo) -> None:
        fields = expression.split()
        CronSim(expression, _EPOCH)  # raises for an invalid expression
        self._expression = expression
        self._zone = zone
        self._names_times = not any(field.startswith("*") for field in fields[-5:-3])

    def next_after(self, instant: float) -> float | None:
        """Return the next fire, a whole second, or None."""
        second = floor(instant)
        found = self._next_named(second) if self._names_times else self._next_on_the_wall(second)
        return None if found is None else float(found)

    def _next_named(self, second: int) -> int | None:
        for local in self._locals_after(second + self._offset(second)):
            fire = self._instant_of(local)
            if fire > second:
                return fire
        return None

    def _next_on_the_wall(self, second: int) -> int | None:
        begin = second + 1
        while True:
            offset = self._offset(begin)
            local = next(self._locals_after(begin + offset - 1), None)
            if local is None:
                return None
            change = self._first_change(begin, local - offset)
            if change is None:
                return local - offset
            begin = change

    def _locals_after(self, local: int) -> Iterator[int]:
        """Yield matching wall-clock times as seconds since 1970 in local time."""
        for moment in CronSim(self._expression, _EPOCH + timedelta(seconds=local)):
            yield (moment - _EPOCH) // _SECOND

    def _instant_of(self, local: int) -> int:
        """Return the first instant with this wall-clock time, or the end of the gap that skips it."""
        wall = _EPOCH + timedelta(seconds=local)
        before, after = self._offset_on(wall, 0), self._offset_on(wall, 1)
        late, early = local - before, local - after
        if late > early and self._offset(late) != before:  # the time is skipped
            return self._first_change(early, late) or late
        return late

    def _first_change(self, begin: int, end: int) -> int | None:
        """Return the first instant in (begin, end] with another UTC offset than `begin`, or None."""
        offset, low = self._offset(begin), begin
        while low < end:
            high = min(low + HALF_DAY, end)
            if self._offset(high) != offset:
                return self._bisected(low, high, offset)
            low = high
        return None

    def _bisected(self, low: int, high: int, offset: int) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._offset(middle) == offset else (low, middle)
        return high

    def _offset(self, second: int) -> int:
        moment = datetime.fromtimestamp(second, UTC).astimezone(self._zone)
        return (moment.utcoffset() or timedelta()) // _SECOND

    def _offset_on(self, wall: datetime, fold: int) -> int:
        return (wall.replace(tzinfo=self._zone, fold=fold).utcoffset() or timedelta()) // _SECOND


@lru_cache(maxsize=4096)
def timetable(expression: str, zone: str = "UTC") -> Timetable:
    """Parse an expression into a timetable; ConfigError says what is wrong with it."""
    if not isinstance(expression, str) or len(expression) > LONGEST_EXPRESSION:
        raise ConfigError(f"a schedule is a text of at most {LONGEST_EXPRESSION} characters; {HELP}")
    text, place = " ".join(expression.split()), _zone(zone)
    if text.lower().startswith("every "):
        return _interval(text[6:])
    if text.startswith("@") and text.lower() not in NAMES:
        raise ConfigError(f"{expression!r} is not a schedule; the names are {', '.join(NAMES)}")
    return _cron(expression, NAMES.get(text.lower(), text), place)


def _interval(length: str) -> Interval:
    period = seconds(length)
    if not SHORTEST_INTERVAL <= period <= LONGEST_INTERVAL:
        raise ConfigError(f"an interval of {length!r} cannot be a schedule; it has 10ms to 366d")
    return Interval(period)


def _cron(given: str, expression: str, zone: ZoneInfo) -> Cron:
    try:
        found = Cron(expression, zone)
    except (CronSimError, ValueError, AssertionError) as error:
        raise ConfigError(f"{given!r} is not a schedule ({error}); {HELP}") from None
    if found.next_after(0.0) is None:
        raise ConfigError(f"{given!r} names no time that ever comes; {HELP}")
    return found


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise ConfigError(f"{name!r:.100} is not a time zone; write it like Europe/Berlin or UTC") from None


FAR = 3600.0
MOST = 60.0


def spread(wait: float, latest: float | None, rng: Random) -> float:
    """Add jitter of up to a minute to a wait of more than an hour; never beyond `latest`, the wait until not_after."""
    if wait <= FAR:
        return wait
    moved = wait + rng.uniform(-MOST, MOST)
    return wait if latest is not None and moved > latest else moved
