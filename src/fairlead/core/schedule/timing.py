"""When a schedule fires: cron expressions in a time zone, and intervals.

A cron expression names wall-clock times. Where a zone changes its offset, a wall-clock time can be missing or happen
twice. What follows is the rule of Debian's cron, for expressions with and without seconds:

- Times that are named (neither the minute nor the hour begins with `*`, as in `30 2 * * *`) fire once a day. One that
  is skipped fires at the first instant after the gap, and all that fall into one gap fire there once. One that is
  repeated fires the first time only.
- Times that recur within a day (`*/15 * * * *`, `0 * * * *`) go by the clock on the wall as it is: nothing fires for
  the hour that is skipped, and the hour that is repeated fires in both of its passes.

An interval (`every 30s`) knows no zone: it fires at the multiples of its length since 1970, so that neither a restart
nor another process shifts it.

cronsim finds the next wall-clock time; the way from there to an instant is here. Instants are seconds since 1970.
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
    """All instants at which something fires."""

    def next_after(self, instant: float) -> float | None:
        """The first of them after this instant; None if there is none within fifty years."""


class Interval:
    """The multiples of a length of time since 1970, counted in microseconds so that nothing drifts."""

    def __init__(self, length: float) -> None:
        self._length = round(length * MICROSECONDS)

    def next_after(self, instant: float) -> float:
        """The next multiple."""
        passed = round(instant * MICROSECONDS) // self._length
        return (passed + 1) * self._length / MICROSECONDS


class Cron:
    """The instants of a cron expression in a zone."""

    def __init__(self, expression: str, zone: tzinfo) -> None:
        fields = expression.split()
        CronSim(expression, _EPOCH)  # raises where it cannot be read
        self._expression = expression
        self._zone = zone
        self._names_times = not any(field.startswith("*") for field in fields[-5:-3])

    def next_after(self, instant: float) -> float | None:
        """The next fire, a whole second."""
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
        """The wall-clock times that fit, as seconds since 1970 on that wall."""
        for moment in CronSim(self._expression, _EPOCH + timedelta(seconds=local)):
            yield (moment - _EPOCH) // _SECOND

    def _instant_of(self, local: int) -> int:
        """The first instant at which the wall shows this time, or the end of the gap that swallows it."""
        wall = _EPOCH + timedelta(seconds=local)
        before, after = self._offset_on(wall, 0), self._offset_on(wall, 1)
        late, early = local - before, local - after
        if late > early and self._offset(late) != before:  # the wall jumps over it
            return self._first_change(early, late) or late
        return late

    def _first_change(self, begin: int, end: int) -> int | None:
        """The first instant in (begin, end] with another offset than `begin`."""
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
    """The timetable of an expression; ConfigError says why it is none."""
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
    """A wait of more than an hour, up to a minute more or less; never beyond `latest`, the wait until not_after."""
    if wait <= FAR:
        return wait
    moved = wait + rng.uniform(-MOST, MOST)
    return wait if latest is not None and moved > latest else moved
