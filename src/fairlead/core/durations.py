"""Durations as users write them: 30 and "30" (seconds), "30s", "5m", "1h30m", timedelta(minutes=5)."""

import re
from datetime import UTC, datetime, timedelta

from fairlead.errors import ConfigError

EARLIEST = datetime.min.replace(tzinfo=UTC).timestamp()
LATEST = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def instant(moment: float | None) -> datetime | None:
    """Return the UTC datetime of seconds since 1970, limited to the range of datetime."""
    return None if moment is None else datetime.fromtimestamp(min(max(moment, EARLIEST), LATEST), UTC)


Duration = float | int | str | timedelta

FOREVER = 1000 * 366 * 86_400.0  # longer ones are out of range in some databases and libraries

_UNITS = {
    0.001: ("ms", "millisecond", "milliseconds"),
    1.0: ("s", "sec", "secs", "second", "seconds"),
    60.0: ("m", "min", "mins", "minute", "minutes"),
    3600.0: ("h", "hr", "hrs", "hour", "hours"),
    86400.0: ("d", "day", "days"),
    604800.0: ("w", "week", "weeks"),
}
_LENGTHS = {name: length for length, names in _UNITS.items() for name in names}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(sorted(_LENGTHS, key=len, reverse=True))})(?![a-z])\s*")


def seconds(duration: Duration) -> float:
    """Return the duration in seconds; ConfigError if it is not one."""
    if isinstance(duration, timedelta):
        value = duration.total_seconds()
    elif isinstance(duration, str):
        value = _parse(duration)
    elif isinstance(duration, int | float):
        value = float(duration) if abs(duration) < FOREVER else FOREVER
    else:
        raise ConfigError(f"{duration!r:.100} is not a duration; write it like 500ms, 30s, 5m, 1h30m or 7d")
    if not 0 <= value < FOREVER:
        raise ConfigError(f"{duration!r:.100} is not a duration: not negative, and below a thousand years")
    return value


def _parse(text: str) -> float:
    stripped = text.strip().lower()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    parts = _PART.findall(stripped)
    if not parts or _PART.sub("", stripped):
        raise ConfigError(f"{text!r} is not a duration; write it like 500ms, 30s, 5m, 1h30m or 7d")
    return sum(float(amount) * _LENGTHS[unit] for amount, unit in parts)


def span(name: str, duration: Duration) -> float:
    """Return the duration in seconds; ConfigError if it is zero."""
    length = seconds(duration)
    if length == 0:
        raise ConfigError(f"{name}={duration!r} is no time at all; it must be longer than nothing")
    return length


def humanize(value: float) -> str:
    """Return seconds as text for people, such as 1h5m, rounded to two units."""
    if value < 1:
        return f"{value * 1000:.0f}ms"
    if value < 60:
        return f"{value:.3g}s"
    for unit, size, smaller, small in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if value >= size:
            whole, rest = divmod(round(value), size)
            return f"{whole}{unit}{rest // small}{smaller}" if rest >= small else f"{whole}{unit}"
    raise AssertionError("unreachable: every value of a minute or more has a unit")
